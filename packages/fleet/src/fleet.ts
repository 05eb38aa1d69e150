import { ConfigurationError, ElectorBusyError, type RunOptions, type TimingReport } from "@leasehold/core";
import type { FleetHandle } from "@leasehold/core/diagnostics";
import {
  AlreadyAbortedError,
  checkCallOptions,
  checkKnown,
  checkSignal,
  defaultCandidateId,
  onAbort,
} from "@leasehold/core/provider";
import { EVENT_NAMES, type FleetEvents } from "./fleet-events.ts";
import { checkFleetOptions, type FleetOptions, type FleetSettings } from "./fleet-options.ts";
import { FleetReporter } from "./fleet-reporter.ts";
import { readFleet, type FleetStatus } from "./fleet-status.ts";
import type { Shard, ShardTask } from "./hold.ts";
import { FleetMember } from "./member.ts";

/** The options of `run`. */
export type FleetRunOptions = Pick<RunOptions, "signal">;

const RUN_OPTIONS = { signal: true } as const satisfies Record<keyof FleetRunOptions, true>;

/**
 * One member of a fleet: a process that shares the shards with the other members.
 *
 * At any instant at most one member holds a valid shard of a name. As for an elector, this requires that the rates of clocks differ
 * by less than 10%. The store must not lose acknowledged writes. Each grant of a shard has a higher term than all grants
 * before it. A paused process may still send a late write. `store.fence(shard, …)` refuses it once a later holder has begun.
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
  /** Kept, because the reporter's reference is weak. */
  readonly #handle: FleetHandle;
  readonly #reporter: FleetReporter;
  /** The member of the last run. Its tasks may have outlasted it. */
  #member: FleetMember | undefined;
  #running: Promise<void> | undefined;

  /** @throws {ConfigurationError | UnsupportedError} for options that cannot work, with the numbers. Sends nothing. */
  constructor(options: FleetOptions) {
    this.#settings = checkFleetOptions(options, defaultCandidateId);
    this.fleet = this.#settings.names.fleet;
    this.memberId = this.#settings.memberId;
    this.timing = this.#settings.timing;
    this.#handle = handleOf(() => this.#member);
    this.#reporter = new FleetReporter(this.#settings, this.#handle);
  }

  /** The shards that this member holds, and that are valid at this moment. */
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
   * Joins the fleet, and calls the task for each shard that this member is given, side by side. Runs until the signal aborts or
   * `stop` is called. Then other members take the shards over, and it resolves.
   *
   * A task that returns gives its shard back, and another member gets it. A task that throws gives it back, too: the shard rests
   * for 2 s, then 4 s, up to 60 s, and `run` goes on. A task of a shard never begins before the former one of this process has
   * settled. After an outage of the store the member joins again.
   *
   * @throws {ConfigurationError | AlreadyAbortedError | ElectorBusyError} before any request. A fleet is busy until all tasks of an
   * earlier run have settled.
   * @throws {StoreError} if the store has only refused (no rights, no table) for a whole lease since the start.
   * @throws {DrainTimeoutError} if it stops, and a task has not settled `drainTimeoutMs` and one lease after its signal aborted.
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
   * Hands all shards over, and ends `run`. Resolves when that is done. Does nothing if this member does not run. A task that
   * awaits it waits for itself.
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

function handleOf(member: () => FleetMember | undefined): FleetHandle {
  return {
    get held() {
      return member()?.holds.valid.length ?? 0;
    },
    get totals() {
      return member()?.coordinator?.totals;
    },
  };
}
