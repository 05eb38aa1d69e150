// One process of a fleet. It holds a session, polls the head and runs shards. While it holds the head, it also coordinates.

import type { HeldLeadership, LeaseSnapshot } from "@leasehold/core";
import { DrainTimeoutError, isMisuse, isRefusal, onAbort, sleep } from "@leasehold/core/provider";
import { Coordinator } from "./coordinator.ts";
import { FleetRecords } from "./fleet-records.ts";
import type { FleetSettings } from "./fleet-options.ts";
import type { FleetContext, FleetReporter } from "./fleet-reporter.ts";
import { Holds, type ShardTask } from "./holds.ts";
import { Lasting } from "./lasting.ts";
import { decodeHead, NO_HEAD, type Head } from "./plan-text.ts";
import { idOf, type Plan } from "./plan.ts";
import { encodeReport } from "./report.ts";
import { takingSlots, type Session } from "./session.ts";

/** A stopping member waits this many renew intervals for a coordinator to move its shards. Then the member ends its tasks. */
const PATIENCE = 4;
/** After this many failed rounds in a row, a coordinator gives up the head. Another member can then acquire it. */
const MAX_FAILURES = 3;
/** At least this fraction of the retry period passes between two polls, however many tasks end. */
const LEAST_PAUSE = 0.2;
/** The rate at which all members together read a large plan, in bytes per millisecond. */
const READ_RATE = 16_000;

export class FleetMember {
  readonly holds: Holds;
  /** Set while this member holds the head. */
  coordinator: Coordinator | undefined;
  readonly #context: FleetContext;
  readonly #takeSlot: ReturnType<typeof takingSlots>;
  /** Before this instant the member does not try to acquire the head. */
  #standsBackUntilMs = -Infinity;
  #head: Head = NO_HEAD;
  /** The highest revision that a head has shown, or that this process has carried out in any session. */
  #known = 0;
  /** True if the fence of each shard is written before its task begins. */
  #isFenced = false;
  #reported = "";
  #hasContact = false;
  #isStopping = false;
  readonly #lasting: Lasting;
  #wake: (() => void) | undefined;

  constructor(settings: FleetSettings, task: ShardTask, reporter: FleetReporter) {
    this.#context = { ...settings, records: new FleetRecords(settings), reporter };
    this.#takeSlot = takingSlots(this.#context);
    this.#lasting = new Lasting(settings.clock);
    const { records } = this.#context;
    this.holds = new Holds({
      ...this.#context,
      task,
      seal: async (shard) => (this.#isFenced ? await records.seal(shard) : undefined),
      onLeft: () => this.#wake?.(),
    });
  }

  stop(): void {
    this.#isStopping = true;
    this.#wake?.();
  }

  /** Joins, and joins again after the loss of a session, until the member stops. @throws {DrainTimeoutError} */
  async run(): Promise<void> {
    while (!this.#isStopping) {
      const session = await this.#join();
      if (session) await this.#serve(session);
    }
    const [stuck] = this.holds.stuck;
    if (!stuck) return;
    const { drainTimeoutMs, leaseDurationMs } = this.#context.timing;
    throw new DrainTimeoutError(stuck.shard.election, stuck.shard.term, drainTimeoutMs + leaseDurationMs);
  }

  async #join(): Promise<Session | undefined> {
    const { clock, timing, records } = this.#context;
    while (!this.#isStopping) {
      try {
        // A member that cannot read the plan must not join, because it would never start its shards.
        const stored = await records.readPlan(true);
        const session = await this.#takeSlot(stored?.plan.members);
        this.#contact(undefined);
        if (session) return session;
      } catch (error) {
        this.#contact(error);
        const refusedMs = this.#lasting.ms("refused", isRefusal(error) && !this.#hasContact);
        if (isMisuse(error) || refusedMs >= timing.leaseDurationMs) throw error;
      }
      await this.#pause(timing.retryPeriodMs * (0.5 + clock.random() / 2));
    }
    return undefined;
  }

  async #serve(session: Session): Promise<void> {
    const { leadership, slot, elector } = session;
    const { term, signal } = leadership;
    const { reporter } = this.#context;
    const isOver = (): boolean => signal.aborted || (this.#isStopping && this.holds.all.length === 0);
    this.holds.begin(leadership);
    this.#reported = "";
    this.#lasting.ms("session", true, idOf(leadership));
    reporter.emit("joined", { slot, term });
    const stopListening = onAbort(signal, () => this.#wake?.());
    elector.on("renewed", () => reporter.emit("renewed", { slot, term }));
    while (!isOver()) {
      await this.#step(session);
      if (!isOver()) await this.#pause(this.#pauseMs());
    }
    stopListening();
    // A member without a session must not coordinate. Resigning before the drain lets another member coordinate at once.
    await this.#resign();
    this.holds.leaveAll();
    await this.holds.empty();
    await this.#leave(session);
    reporter.emit("left", { slot, term });
  }

  /** Releases the session. While a task still runs, the session is not released and may expire. */
  async #leave({ leadership, elector }: Session): Promise<void> {
    const { stuck } = this.holds;
    const release = async (): Promise<void> => {
      this.#context.records.giveUp(idOf(leadership));
      await leadership.release().catch(() => undefined);
    };
    if (stuck.length === 0) return await release();
    // `stop` ends the renewals once the time to drain is over. It does not release the session.
    void elector.stop().catch(() => undefined);
    void Promise.all(stuck.map(({ settled }) => settled)).then(release);
  }

  /** Polls, carries out the plan, and reports. If one of these steps fails, the others still run. */
  async #step(session: Session): Promise<void> {
    const { leadership } = session;
    const failures: unknown[] = [];
    const failed = (error: unknown): void => void failures.push(error);
    await this.#poll(leadership).catch(failed);
    await this.#carryOut(session).catch(failed);
    // No coordinator has moved the shards of this stopping member in time.
    const waitsMs = this.#lasting.ms("stops", this.#isStopping);
    if (waitsMs > PATIENCE * this.#context.timing.renewIntervalMs) this.holds.leaveAll();
    await this.#report(leadership).catch(failed);
    if (!leadership.signal.aborted) this.#contact(failures[0]);
  }

  #contact(error: unknown): void {
    this.#hasContact ||= error === undefined;
    this.#context.reporter.contact(error);
  }

  /** Does a coordinator's round, or polls the head as a standby does. */
  async #poll(leadership: HeldLeadership): Promise<void> {
    if (this.coordinator) return await this.#coordinate(this.coordinator);
    const { clock, timing } = this.#context;
    const found = await this.#readHead();
    const isOpen = !found || ((found.state === "vacant" || found.state === "expired") && !found.bar);
    if (!isOpen || this.#isStopping || clock.monotonicMs() < this.#standsBackUntilMs) return;
    await this.#pause(timing.retryPeriodMs * clock.random());
    if (!leadership.isValid() || leadership.signal.aborted) return;
    this.coordinator = await Coordinator.take(this.#context, this.#known);
  }

  async #coordinate(coordinator: Coordinator): Promise<void> {
    try {
      await coordinator.round(this.#known);
      coordinator.failures = 0;
      this.#known = Math.max(this.#known, coordinator.stored?.plan.revision ?? 0);
      if (coordinator.isOver) this.coordinator = undefined;
    } catch (error) {
      coordinator.failures += 1;
      if (coordinator.failures < MAX_FAILURES) throw error;
      const { clock, timing } = this.#context;
      if (!coordinator.isAlone) this.#standsBackUntilMs = clock.monotonicMs() + 2 * timing.leaseDurationMs;
      await this.#resign();
      throw error;
    }
  }

  async #resign(): Promise<void> {
    const coordinator = this.coordinator;
    this.coordinator = undefined;
    await coordinator?.resign();
  }

  async #readHead(): Promise<LeaseSnapshot | undefined> {
    const { store, names, timing } = this.#context;
    const found = await store.read(names.head, { timeoutMs: timing.attemptTimeoutMs });
    this.#head = decodeHead(found?.value);
    this.#known = Math.max(this.#known, this.#head.revision);
    return found;
  }

  async #carryOut({ leadership, slot }: Session): Promise<void> {
    if (this.#known <= this.holds.applied) return;
    const plan = this.coordinator ? this.coordinator.stored?.plan : await this.#readPlan();
    if (!plan) return;
    this.#isFenced = this.#context.fenced || plan.fenced;
    this.holds.apply(plan, slot, leadership, this.#isStopping);
    this.#known = Math.max(this.#known, this.holds.applied);
  }

  /** Returns the plan only if the head names the plan's write. Such a write was acknowledged, so no failover undoes it. */
  async #readPlan(): Promise<Plan | undefined> {
    const { clock, records } = this.#context;
    const spreadMs = (this.#head.members * this.#head.bytes) / READ_RATE;
    if (spreadMs > 1) await sleep(clock, spreadMs * clock.random());
    const found = await records.readPlan(false);
    const counts = (): boolean => found?.plan.revision === this.#head.revision && found.id === this.#head.id;
    // The plan may have changed since the last read of the head.
    if (!counts()) await this.#readHead();
    return counts() ? found?.plan : undefined;
  }

  async #report(leadership: HeldLeadership): Promise<void> {
    const { memberId, shards, fenced, weight, maxShards, priority, timing } = this.#context;
    const id = idOf(leadership);
    const text = encodeReport({
      id,
      name: memberId,
      applied: this.holds.applied,
      known: this.#known,
      list: shards.mark,
      draining: this.holds.draining(this.#isStopping),
      ended: this.holds.ended,
      stopping: this.#isStopping,
      steady: this.#lasting.ms("session", true, id) >= timing.renewIntervalMs,
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
    const { clock, store, names, timing } = this.#context;
    const { renewIntervalMs, retryPeriodMs } = timing;
    const { dueInMs, isBusy } = this.coordinator ?? {
      dueInMs: store.nextLookMs(names.head, renewIntervalMs),
      isBusy: this.#head.isBusy,
    };
    const aimMs = Math.min(renewIntervalMs, dueInMs);
    const isFast = isBusy || this.#isStopping || this.holds.all.some(({ isLeaving }) => isLeaving);
    return isFast ? Math.min(retryPeriodMs, aimMs) * (0.8 + 0.2 * clock.random()) : aimMs;
  }

  /** Waits. A shard that is let go, a stop or a lost session ends the wait, but not before `LEAST_PAUSE`. */
  async #pause(ms: number): Promise<void> {
    const { clock, timing } = this.#context;
    const leastMs = Math.min(ms, LEAST_PAUSE * timing.retryPeriodMs);
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    await sleep(clock, leastMs);
    await sleep(clock, ms - leastMs, waking.signal).catch(() => undefined);
    this.#wake = undefined;
  }
}
