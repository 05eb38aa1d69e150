// The shards that this process holds, and the ended shards that its report must name.

import type { HeldLeadership } from "@leasehold/core";
import { onAbort } from "@leasehold/core/provider";
import { Hold, type HoldContext, type Shard } from "./hold.ts";
import { idOf, type Plan } from "./plan.ts";
import type { Ended } from "./report.ts";

interface HoldsContext extends Omit<HoldContext, "onLetGo"> {
  /** Called when this process has let a shard go that has not failed. A failed shard can wait, because it rests anyway. */
  readonly onLeft: () => void;
}

export class Holds {
  /** The revision of the plan that this session has carried out. */
  applied = 0;
  readonly #context: HoldContext;
  readonly #onLeft: () => void;
  /** The shards that this process has started. Each stays here until it was let go, and its task has settled. */
  readonly #started = new Map<string, Hold>();
  /** The shards that were let go in this session. Each stays here until the plan no longer contains its grant. */
  readonly #ended = new Map<string, Ended>();
  #whenEmpty: (() => void) | undefined;

  constructor({ onLeft, ...context }: HoldsContext) {
    this.#context = { ...context, onLetGo: (...end) => this.#letGo(...end) };
    this.#onLeft = onLeft;
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
        this.#started.set(shard, new Hold(this.#context, shard, since, session));
      }
    }
  }

  leaveAll(reason?: Error): void {
    for (const held of this.all) held.leave(reason);
  }

  /** Resolves when all shards have been let go. Each task has then settled, or has run for one lease after its time to drain. */
  async empty(): Promise<void> {
    if (this.all.length > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
  }

  #letGo(hold: Hold, how: Ended["how"], error: unknown): void {
    const { name: shard, term: since } = hold.shard;
    const forget = (): unknown => this.#started.delete(shard);
    if (hold.isSettled) forget();
    else void hold.settled.then(forget);
    // A plan may have granted a later term of the shard meanwhile, which counts as failed.
    if ((this.#ended.get(shard)?.since ?? 0) < since) this.#ended.set(shard, { shard, since, how });
    if (this.all.length === 0) this.#whenEmpty?.();
    if (how === "failed" || how === "failed-late") this.#context.reporter.emit("shardFailed", { shard: hold.shard, error });
    else {
      this.#context.reporter.emit("shardStopped", { shard: hold.shard });
      this.#onLeft();
    }
  }
}
