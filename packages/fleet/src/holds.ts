// The shards that this process holds, from the grant to the end, and the ended shards that its report must name.

import type { HeldLeadership, Leadership, LeaseholdError } from "@leasehold/core";
import { LeadershipEndedError, onAbort, sleep } from "@leasehold/core/provider";
import type { FleetContext } from "./fleet-reporter.ts";
import { idOf, type Plan } from "./plan.ts";
import type { Ended } from "./report.ts";

/**
 * A shard that this process holds. It is a leadership with a name, so `store.fence(shard, …)` accepts a shard. The session of the
 * member renews it. A shard publishes nothing.
 *
 * At any instant `isValid()` is true for at most one holder of the shard, under the conditions of an elector. It becomes false
 * once the task has settled, or has run longer than its time to drain. After a freeze that was longer than the lease, it is false
 * from the first statement on.
 */
export interface Shard extends Omit<Leadership, "publish" | "renew"> {
  readonly name: string;
}

/** The work of one shard. It should settle soon after `shard.signal` aborts. */
export type ShardTask = (shard: Shard) => unknown;

export interface HoldsContext extends Pick<FleetContext, "clock" | "names" | "memberId" | "timing" | "reporter"> {
  readonly task: ShardTask;
  /** Writes the shard's fence, if it has one. Throws if the shard counts as failed. */
  readonly seal: (shard: Shard) => Promise<void>;
  /** Called when this process has let a shard go that has not failed. A failed shard can wait, because it rests anyway. */
  readonly onLeft: () => void;
}

export class Holds {
  /** The revision of the plan that this session has carried out. */
  applied = 0;
  readonly #context: HoldsContext;
  /** The shards that this process has started. Each stays here until it was let go, and its task has settled. */
  readonly #started = new Map<string, Hold>();
  /** The shards that were let go in this session. Each stays here until the plan no longer contains its grant. */
  readonly #ended = new Map<string, Ended>();
  #whenEmpty: (() => void) | undefined;

  constructor(context: HoldsContext) {
    this.#context = context;
  }

  /** The shards that were not let go yet. */
  get all(): readonly Hold[] {
    return [...this.#started.values()].filter(({ isLetGo }) => !isLetGo);
  }

  /** The shards that were let go although their tasks still run. */
  get stuck(): readonly Hold[] {
    return [...this.#started.values()].filter(({ isLetGo }) => isLetGo);
  }

  get valid(): readonly Shard[] {
    return this.all.map(({ shard }) => shard).filter((shard) => shard.isValid());
  }

  get ended(): readonly Ended[] {
    return [...this.#ended.values()];
  }

  /** Returns the names of the shards that were asked to leave. While the member stops, returns the names of all shards. */
  draining(isStopping: boolean): Set<string> {
    return new Set(this.all.filter(({ isLeaving }) => isStopping || isLeaving).map(({ shard }) => shard.name));
  }

  /** Begins a new session, and forgets the ended shards of the former one. All shards end with the new session. */
  begin({ signal }: HeldLeadership): void {
    this.#ended.clear();
    this.applied = 0;
    onAbort(signal, (reason) => this.leaveAll(reason));
  }

  /** Starts the shards that the plan grants to this session, and ends all others. Ignores a plan that is not newer. */
  apply(plan: Plan, slot: number, session: HeldLeadership, isStopping: boolean): void {
    if (plan.revision <= this.applied || !session.isValid() || session.signal.aborted) return;
    this.applied = plan.revision;
    const member = plan.members.get(slot);
    // The plan may name another session of the slot.
    const isNamed = member?.term === session.term && member.id === idOf(session);
    const granted = new Map([...plan.shards].filter(([, entry]) => isNamed && entry.slot === slot));
    for (const { shard, since } of this.ended) if (granted.get(shard)?.since !== since) this.#ended.delete(shard);
    for (const held of this.all) if (granted.get(held.shard.name)?.since !== held.shard.term) held.leave();
    for (const [shard, { since, leaving }] of granted) {
      const held = this.#started.get(shard);
      if (held) {
        if (leaving) held.leave();
        // The shard's task still runs in an earlier term. A process never runs two tasks of one shard at the same time.
        if (held.isLetGo || held.shard.term !== since) this.#ended.set(shard, { shard, since, how: "failed" });
      } else if (!leaving && !isStopping && !this.#ended.has(shard)) {
        this.#started.set(shard, new Hold(this.#context, shard, since, session, this.#letGo));
      }
    }
  }

  leaveAll(reason?: Error): void {
    for (const held of this.all) held.leave(reason);
  }

  /** Resolves when all shards have been let go. Each task has then settled, or has run for one lease after its time to drain. */
  async empty(): Promise<void> {
    if (!this.#isEmpty) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
  }

  get #isEmpty(): boolean {
    for (const { isLetGo } of this.#started.values()) if (!isLetGo) return false;
    return true;
  }

  readonly #letGo: OnLetGo = (hold, how, error) => {
    const { reporter, onLeft } = this.#context;
    const { name: shard, term: since } = hold.shard;
    const forget = (): unknown => this.#started.delete(shard);
    if (hold.isSettled) forget();
    else void hold.settled.then(forget);
    // A plan may have granted a later term of the shard meanwhile, which counts as failed.
    if ((this.#ended.get(shard)?.since ?? 0) < since) this.#ended.set(shard, { shard, since, how });
    if (this.#isEmpty) this.#whenEmpty?.();
    if (how === "failed" || how === "failed-late") return reporter.emit("shardFailed", { shard: hold.shard, error });
    reporter.emit("shardStopped", { shard: hold.shard });
    onLeft();
  };
}

/** A failure after this time counts as a first failure, because the task worked until then. */
const WORKED_MS = 60_000;

/** Called once for each hold, when this process has let the shard go. */
type OnLetGo = (hold: Hold, how: Ended["how"], error: unknown) => void;

/** A shard from its grant until its task has settled. */
class Hold {
  readonly shard: Shard;
  readonly settled: Promise<void>;
  isSettled = false;
  /** True once this process has let the shard go. After an overrun the task still runs then. */
  isLetGo = false;
  readonly #context: HoldsContext;
  readonly #onLetGo: OnLetGo;
  readonly #stop = new AbortController();
  #checkpointMs = 0;
  /** Aborts once the task has settled. It is created at the first wait, because most holds never wait. */
  #waiting: AbortController | undefined;
  #stalled: Error | undefined;
  #isOver = false;

  /** @param since the revision that granted the shard. */
  constructor(context: HoldsContext, name: string, since: number, session: HeldLeadership, onLetGo: OnLetGo) {
    this.#context = context;
    this.#onLetGo = onLetGo;
    this.shard = this.#makeShard(name, since, session);
    this.settled = this.#work();
  }

  get isLeaving(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Aborts the task's signal. The shard becomes invalid after `drainTimeoutMs`. This process lets it go one lease later. */
  leave(reason: Error = this.#endedError("it moves to another member.")): void {
    if (this.isLeaving) return;
    this.#stop.abort(reason);
    void this.#limitDrain();
  }

  async #work(): Promise<void> {
    const { clock, task, seal, reporter } = this.#context;
    const startedMs = clock.monotonicMs();
    let how: Ended["how"] = "left";
    let failure: unknown;
    try {
      await seal(this.shard);
      // After a freeze, the timers have not run yet. So `isValid()` reads the clocks.
      if (!this.isLeaving && this.shard.isValid()) {
        reporter.emit("shardStarted", { shard: this.shard });
        // The wait for the fence does not count as a stall.
        this.#checkpointMs = clock.monotonicMs();
        void this.#watchStall();
        await task(this.shard);
        if (!this.isLeaving) how = "returned";
      }
    } catch (error) {
      failure = error;
      if (!this.isLeaving) how = clock.monotonicMs() - startedMs >= WORKED_MS ? "failed-late" : "failed";
    }
    this.isSettled = true;
    this.#waiting?.abort();
    this.#letGo(how, failure);
  }

  async #limitDrain(): Promise<void> {
    const { timing, reporter } = this.#context;
    await this.#settledWithin(timing.drainTimeoutMs);
    if (this.isLetGo) return;
    this.#isOver = true;
    reporter.emit("overrun", { shard: this.shard });
    await this.#settledWithin(timing.leaseDurationMs);
    this.#letGo("failed", this.#endedError("its task has not settled in time."));
  }

  /** Ends a task that has not called `checkpoint()` for `stallTimeoutMs`. Such a task counts as failed. */
  async #watchStall(): Promise<void> {
    const { clock, timing } = this.#context;
    const { stallTimeoutMs } = timing;
    while (stallTimeoutMs !== undefined && !this.isLeaving && !this.isLetGo) {
      const leftMs = this.#checkpointMs + stallTimeoutMs - clock.monotonicMs();
      if (leftMs > 0) await this.#settledWithin(leftMs);
      else this.leave((this.#stalled = this.#endedError(`its task has not called checkpoint() for ${stallTimeoutMs} ms.`)));
    }
  }

  async #settledWithin(ms: number): Promise<void> {
    if (this.isSettled) return;
    this.#waiting ??= new AbortController();
    await sleep(this.#context.clock, ms, this.#waiting.signal).catch(() => undefined);
  }

  /** Makes the shard invalid for good, and then reports its end once. */
  #letGo(how: Ended["how"], error: unknown): void {
    this.#isOver = true;
    if (this.isLetGo) return;
    this.isLetGo = true;
    if (!this.isLeaving) this.#stop.abort(this.#endedError("its task has settled."));
    this.#onLetGo(this, this.#stalled ? "failed" : how, this.#stalled ?? error);
  }

  #endedError(why: string): LeaseholdError {
    return new LeadershipEndedError(this.shard.election, this.shard.term, "released", why);
  }

  #makeShard(name: string, term: number, session: HeldLeadership): Shard {
    const { clock, names, memberId } = this.#context;
    const { signal } = this.#stop;
    let ended: Promise<Error> | undefined;
    const whenAborted = async (): Promise<Error> => {
      if (!signal.aborted) await new Promise((resolve) => void onAbort(signal, resolve));
      return signal.reason as Error;
    };
    return {
      signal,
      /** The promise is created at the first access, because most tasks never need it. */
      get ended() {
        return (ended ??= whenAborted());
      },
      name,
      election: names.shards + name,
      candidateId: memberId,
      term,
      termId: clock.randomUuid(),
      isValid: () => !this.#isOver && session.isValid(),
      remainingMs: () => (this.#isOver ? 0 : session.remainingMs()),
      assertValid: () => {
        if (this.#isOver) throw this.#endedError("this process has let it go.");
        session.assertValid();
      },
      checkpoint: () => void (this.#checkpointMs = clock.monotonicMs()),
    };
  }
}
