import { ConfigurationError, ElectorBusyError, type RunOptions, type TimingReport } from "@leasehold/core";
import { AlreadyAbortedError, checkCallOptions, checkKnown, checkSignal, onAbort } from "@leasehold/core/provider";
import { checkFleetOptions, type FleetOptions, type FleetSettings } from "./fleet-options.ts";
import { EVENT_NAMES, FleetReporter, type FleetEvents } from "./fleet-reporter.ts";
import { readFleet, type FleetStatus } from "./fleet-status.ts";
import type { Shard, ShardTask } from "./holds.ts";
import { FleetMember } from "./member.ts";

/** The options of `run`. */
export type FleetRunOptions = Pick<RunOptions, "signal">;

const RUN_OPTIONS = { signal: true } as const satisfies Record<keyof FleetRunOptions, true>;

/**
 * One member of a fleet: a process that shares the shards with the other members.
 *
 * At any instant at most one member holds a valid shard of each name. As for an elector, the rates of the clocks must differ by
 * less than 10%. The store must not lose acknowledged writes. Each grant of a shard has a higher term than all grants before
 * it. A paused process may still send a late write. `store.fence(shard, …)` refuses that write once a later holder has begun.
 *
 * A member costs the store about two requests for each renew interval, whatever the number of shards.
 *
 * @example
 * ```ts
 * const fleet = new Fleet({ store, fleet: "orders", shards: 64 });
 * await fleet.run(async (shard) => {
 *   while (!shard.signal.aborted) await handleNext(shard.name, shard.signal);
 * }, { signal });
 * ```
 */
export class Fleet implements AsyncDisposable {
  /** The name of the fleet. */
  readonly fleet: string;
  /** The label of this member. */
  readonly memberId: string;
  /** The times of this member, with the defaults filled in. */
  readonly timing: TimingReport;
  readonly #settings: FleetSettings;
  readonly #reporter: FleetReporter;
  /** The member of the last run. Its tasks may still run after that run has ended. */
  #member: FleetMember | undefined;
  #running: Promise<void> | undefined;

  /** Sends nothing. @throws {ConfigurationError | UnsupportedError} for options that cannot work. The error shows the values. */
  constructor(options: FleetOptions) {
    this.#settings = checkFleetOptions(options);
    this.fleet = this.#settings.names.fleet;
    this.memberId = this.#settings.memberId;
    this.timing = this.#settings.timing;
    this.#reporter = new FleetReporter(this.#settings, () => this.#member);
  }

  /** The shards that this member holds and that are valid now. */
  get shards(): readonly Shard[] {
    return this.#member?.holds.valid ?? [];
  }

  /** Reports whether this member coordinates the fleet now. */
  get isCoordinator(): boolean {
    return this.#member?.coordinator !== undefined;
  }

  /**
   * Adds a listener for one kind of event, and returns a function that removes it.
   * @throws {ConfigurationError} for an unknown event, or a listener that is not a function.
   */
  on<Name extends keyof FleetEvents>(name: Name, listener: (event: FleetEvents[Name]) => unknown): () => void {
    checkKnown("Fleet has no event", name, EVENT_NAMES);
    if (typeof listener !== "function") throw new ConfigurationError(`The listener for '${name}' is not a function.`);
    return this.#reporter.listeners.add(name, listener);
  }

  /**
   * Joins the fleet, and calls the task for each shard that this member is granted. The tasks run concurrently. `run` ends once
   * the signal aborts or `stop` is called. Other members then take the shards over.
   *
   * A task that returns or throws gives its shard back, and another member gets the shard. After a throw the shard first rests,
   * for 2 s, then 4 s, up to 60 s, and `run` continues. This process begins no task of a shard before its former task of that
   * shard has settled. After an outage of the store the member joins again.
   *
   * @throws {ConfigurationError | AlreadyAbortedError | ElectorBusyError} before any request. A fleet is busy until all tasks of
   *   an earlier run have settled.
   * @throws {StoreError} if, since the start, the store has refused all requests for a whole lease (no rights, no table).
   * @throws {DrainTimeoutError} if the member stops and a task still runs `drainTimeoutMs` and one lease after its signal
   *   aborted.
   */
  async run(task: ShardTask, options: FleetRunOptions = {}): Promise<void> {
    if (typeof task !== "function")
      throw new ConfigurationError("Fleet.run needs a task, a function that is called with each shard.");
    checkCallOptions("run", options, RUN_OPTIONS);
    const { signal } = options;
    checkSignal("run", signal, this.fleet);
    if (this.#running) throw new ElectorBusyError(this.fleet, "run()", "run");
    if (this.#member?.holds.stuck.length)
      throw new ElectorBusyError(this.fleet, "run()", "a task of an earlier run that has not settled");
    if (signal?.aborted) throw new AlreadyAbortedError("run()", signal, this.fleet);
    const member = new FleetMember(this.#settings, task, this.#reporter);
    const stopListening = onAbort(signal, () => member.stop());
    this.#member = member;
    this.#running = member.run().finally(() => {
      stopListening();
      this.#running = undefined;
    });
    await this.#running;
  }

  /**
   * Gives all shards to other members, and resolves once `run` has ended. A task must not await `stop`: `stop` waits for the task.
   * @throws what `run` throws.
   */
  async stop(): Promise<void> {
    this.#member?.stop();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Reads the members and the shards of the fleet; see {@link readFleet}. */
  async read(): Promise<FleetStatus> {
    return await readFleet(this.#settings.store, this.fleet);
  }
}
