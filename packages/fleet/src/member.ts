// One process of a fleet: its session, its polls, its shards, and the coordinator's work while it holds the head.

import type { HeldLeadership, LeaseSnapshot } from "@leasehold/core";
import type { FleetTotals } from "@leasehold/core/diagnostics";
import { DrainTimeoutError, isMisuse, isRefusal, onAbort, sleep } from "@leasehold/core/provider";
import { Coordinator } from "./coordinator.ts";
import { FleetRecords } from "./fleet-records.ts";
import type { FleetSettings } from "./fleet-options.ts";
import type { FleetReporter } from "./fleet-reporter.ts";
import { decodeHead, NO_HEAD, type Head } from "./head.ts";
import type { Shard, ShardTask } from "./hold.ts";
import { Holds } from "./holds.ts";
import type { Plan } from "./plan.ts";
import { encodeReport } from "./report.ts";
import { Seals } from "./seals.ts";
import { idOf, Slots, type Session } from "./session.ts";

/** A member that stops waits so many renew intervals for a coordinator. Then it ends its tasks by itself. */
const PATIENCE = 4;
/** At least this fraction of the retry period passes between two polls, however many tasks end. */
const LEAST_PAUSE = 0.2;
/** A large plan is read at this rate by all members together, in bytes a millisecond. */
const READ_RATE = 16_000;

export class FleetMember {
  readonly #settings: FleetSettings;
  readonly #reporter: FleetReporter;
  readonly #records: FleetRecords;
  readonly #slots: Slots;
  readonly #seals: Seals;
  readonly #holds: Holds;
  readonly #coordinator: Coordinator;
  #head: Head = NO_HEAD;
  /** The highest revision that a head has told. */
  #confirmed = 0;
  /** The highest revision that this process has carried out, in any session. */
  #carriedOut = 0;
  /** The plan asks for fences. */
  #isFenced: boolean;
  #reported = "";
  #joinedMs = 0;
  #hasContact = false;
  #stopSinceMs: number | undefined;
  #wake: (() => void) | undefined;

  constructor(settings: FleetSettings, task: ShardTask, reporter: FleetReporter) {
    this.#settings = settings;
    this.#reporter = reporter;
    this.#records = new FleetRecords(settings);
    this.#slots = new Slots(settings, this.#records);
    this.#seals = new Seals(settings, this.#records);
    this.#coordinator = new Coordinator(settings, this.#records, reporter);
    this.#isFenced = settings.fenced;
    this.#holds = new Holds({
      ...settings,
      task,
      seal: async (shard) => (this.#isFenced ? await this.#seals.seal(shard) : true),
      onStarted: (shard) => reporter.emit("shardStarted", { shard }),
      onOverrun: (shard) => reporter.emit("overrun", { shard }),
      onLetGo: ({ shard }, { how }, error) => {
        const isFailure = how === "failed" || how === "failed-late";
        if (isFailure) reporter.emit("shardFailed", { shard, error });
        else reporter.emit("shardStopped", { shard });
        // A failure is told with the next renewal, because its shard rests anyway.
        if (!isFailure) this.#wake?.();
      },
    });
  }

  get isCoordinator(): boolean {
    return this.#coordinator.isActive;
  }

  get isStopping(): boolean {
    return this.#stopSinceMs !== undefined;
  }

  /** The shards that are valid at this moment. */
  get shards(): readonly Shard[] {
    return this.#holds.all.map(({ shard }) => shard).filter((shard) => shard.isValid());
  }

  /** The whole fleet, if this member coordinates it. */
  get totals(): FleetTotals | undefined {
    return this.#coordinator.totals;
  }

  /** True while a task runs although its time to drain is over. */
  get isStuck(): boolean {
    return this.#holds.stuck.length > 0;
  }

  /** Hands every shard over, and leaves. */
  stop(): void {
    this.#stopSinceMs ??= this.#settings.clock.monotonicMs();
    this.#wake?.();
  }

  /**
   * Joins, works, and joins again after a session was lost. Resolves once the member has stopped.
   * @throws {DrainTimeoutError} if a task still runs although its time to drain is over.
   */
  async run(): Promise<void> {
    while (!this.isStopping) {
      const session = await this.#join();
      if (session) await this.#serve(session);
    }
    const [stuck] = this.#holds.stuck;
    if (!stuck) return;
    const { drainTimeoutMs, leaseDurationMs } = this.#settings.timing;
    throw new DrainTimeoutError(stuck.shard.election, stuck.since, drainTimeoutMs + leaseDurationMs);
  }

  async #join(): Promise<Session | undefined> {
    const { clock, timing } = this.#settings;
    let refusedMs: number | undefined;
    while (!this.isStopping) {
      try {
        // A member that cannot read the plan would be granted shards that it never starts.
        const stored = await this.#records.readPlan(true);
        const session = await this.#slots.take(stored?.plan.members ?? new Map());
        this.#contact(undefined);
        refusedMs = undefined;
        if (session) return session;
      } catch (error) {
        this.#contact(error);
        if (isMisuse(error)) throw error;
        refusedMs = isRefusal(error) ? (refusedMs ?? clock.monotonicMs()) : undefined;
        if (!this.#hasContact && refusedMs !== undefined && clock.monotonicMs() - refusedMs >= timing.leaseDurationMs)
          throw error;
      }
      await this.#pause(timing.retryPeriodMs * (0.5 + clock.random() / 2));
    }
    return undefined;
  }

  async #serve(session: Session): Promise<void> {
    const { leadership, slot, elector } = session;
    const { term } = leadership;
    const { clock } = this.#settings;
    this.#holds.begin(leadership);
    this.#reported = "";
    this.#joinedMs = clock.monotonicMs();
    this.#reporter.emit("joined", { slot, term });
    const stopListening = onAbort(leadership.signal, () => this.#wake?.());
    elector.on("renewed", () => this.#reporter.emit("renewed", { slot, term }));
    while (!leadership.signal.aborted && !(this.isStopping && this.#holds.all.length === 0)) {
      await this.#step(session);
      if (leadership.signal.aborted || (this.isStopping && this.#holds.all.length === 0)) break;
      await this.#pause(this.#pauseMs());
    }
    stopListening();
    // A member without a session does not plan either. A task that drains for long must not keep others from it.
    await this.#coordinator.resign();
    this.#holds.leaveAll();
    await this.#holds.empty();
    await this.#leave(session);
    this.#reporter.emit("left", { slot, term });
  }

  /** Gives the session up. If a task still runs, the session is left to expire. */
  async #leave({ slot, leadership, elector }: Session): Promise<void> {
    const { stuck } = this.#holds;
    const release = async (): Promise<void> => {
      this.#records.giveUp(slot, idOf(leadership));
      await leadership.release().catch(() => undefined);
    };
    if (stuck.length === 0) return await release();
    // This ends the renewals once the time to drain is over, and releases nothing.
    void elector.stop().catch(() => undefined);
    void Promise.all(stuck.map(({ settled }) => settled)).then(release);
  }

  /** True if no coordinator has taken this member's shards although it has waited for one. */
  get #isOutOfPatience(): boolean {
    const { clock, timing } = this.#settings;
    return this.#stopSinceMs !== undefined && clock.monotonicMs() - this.#stopSinceMs > PATIENCE * timing.renewIntervalMs;
  }

  /** Polls, carries the plan out, and reports. A failure of one does not keep the others back. */
  async #step(session: Session): Promise<void> {
    const { leadership } = session;
    const failures: unknown[] = [];
    const failed = (error: unknown): void => void failures.push(error);
    await this.#poll(leadership).catch(failed);
    await this.#carryOut(session).catch(failed);
    if (this.#isOutOfPatience) this.#holds.leaveAll();
    await this.#report(leadership).catch(failed);
    if (!leadership.signal.aborted) this.#contact(failures[0]);
  }

  #contact(error: unknown): void {
    if (error === undefined) this.#hasContact = true;
    this.#reporter.contact(error);
  }

  /** Does a coordinator's round, or polls the head as a standby does. */
  async #poll(leadership: HeldLeadership): Promise<void> {
    const known = Math.max(this.#confirmed, this.#carriedOut);
    if (this.#coordinator.isActive) {
      await this.#coordinator.round(known);
      this.#confirmed = Math.max(this.#confirmed, this.#coordinator.plan?.revision ?? 0);
      return;
    }
    const { clock, timing } = this.#settings;
    const found = await this.#readHead();
    const isOpen = !found || ((found.state === "vacant" || found.state === "expired") && !found.bar);
    if (!isOpen || this.isStopping || this.#coordinator.standsBack) return;
    await this.#pause(timing.retryPeriodMs * clock.random());
    if (leadership.isValid() && !leadership.signal.aborted) await this.#coordinator.take(known);
  }

  async #readHead(): Promise<LeaseSnapshot | undefined> {
    const { store, names, timing } = this.#settings;
    const found = await store.read(names.head, { timeoutMs: timing.attemptTimeoutMs });
    this.#head = decodeHead(found?.value);
    this.#confirmed = Math.max(this.#confirmed, this.#head.revision);
    return found;
  }

  /** Carries out the plan, if there is a newer one. */
  async #carryOut({ leadership, slot }: Session): Promise<void> {
    if (this.#confirmed <= this.#holds.applied) return;
    const plan = this.#coordinator.isActive ? this.#coordinator.plan : await this.#readPlan();
    if (!plan) return;
    this.#isFenced = this.#settings.fenced || plan.fenced;
    this.#holds.apply(plan, slot, leadership, this.isStopping);
    this.#carriedOut = Math.max(this.#carriedOut, this.#holds.applied);
  }

  /** Reads the plan. It counts if the head tells of this very write: it was acknowledged then, and no failover undoes it. */
  async #readPlan(): Promise<Plan | undefined> {
    const { clock } = this.#settings;
    const spreadMs = (this.#head.members * this.#head.bytes) / READ_RATE;
    if (spreadMs > 1) await sleep(clock, spreadMs * clock.random());
    const found = await this.#records.readPlan(false);
    const counts = (): boolean => found?.plan.revision === this.#head.revision && found.id === this.#head.id;
    // The plan may have changed since the poll.
    if (!counts()) await this.#readHead();
    return counts() ? found?.plan : undefined;
  }

  /** Tells of itself, where there is something new. */
  async #report(leadership: HeldLeadership): Promise<void> {
    const { clock, memberId, list, fenced, weight, maxShards, priority, timing } = this.#settings;
    const text = encodeReport({
      id: idOf(leadership),
      name: memberId,
      applied: this.#holds.applied,
      list: list.mark,
      draining: this.#holds.draining(this.isStopping),
      ended: this.#holds.ended,
      stopping: this.isStopping,
      steady: clock.monotonicMs() - this.#joinedMs >= timing.renewIntervalMs,
      fenced,
      weight,
      maxShards,
      priority,
    });
    if (text === this.#reported || !leadership.isValid()) return;
    await leadership.publish(text);
    this.#reported = text;
  }

  #pauseMs(): number {
    const { clock, store, names, timing } = this.#settings;
    const { renewIntervalMs, retryPeriodMs } = timing;
    const aimMs = this.#coordinator.isActive
      ? Math.min(renewIntervalMs, this.#coordinator.dueInMs)
      : Math.min(renewIntervalMs, store.nextLookMs(names.head, renewIntervalMs));
    const isBusy = this.#coordinator.isActive ? this.#coordinator.isBusy : this.#head.isBusy;
    const isFast = isBusy || this.isStopping || this.#holds.all.some(({ isLeaving }) => isLeaving);
    return isFast ? Math.min(retryPeriodMs, aimMs) * (0.8 + 0.2 * clock.random()) : aimMs;
  }

  /** Waits. A shard that is let go, a stop or a lost session ends the wait early, but not the first part of it. */
  async #pause(ms: number): Promise<void> {
    const { clock, timing } = this.#settings;
    const leastMs = Math.min(ms, LEAST_PAUSE * timing.retryPeriodMs);
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    await sleep(clock, leastMs);
    await sleep(clock, ms - leastMs, waking.signal).catch(() => undefined);
    this.#wake = undefined;
  }
}
