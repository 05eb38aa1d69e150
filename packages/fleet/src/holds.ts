// The shards that this process holds, and the ended shards that its report must name.

import type { HeldLeadership } from "@leasehold/core";
import { onAbort } from "@leasehold/core/provider";
import { Hold, type HoldContext, type Shard } from "./hold.ts";
import { idOf, type Plan } from "./plan.ts";
import type { Ended } from "./report.ts";

export class Holds {
  /** The revision of the plan that this session has carried out. */
  applied = 0;
  readonly #context: HoldContext;
  /** The shards that this process has started and not yet let go. */
  readonly #held = new Map<string, Hold>();
  /** The shards that were let go while their tasks still ran. A shard starts here again only after that task has settled. */
  readonly #stuck = new Map<string, Hold>();
  /** The shards that were let go in this session. Each stays here until the plan no longer contains its grant. */
  readonly #ended = new Map<string, Ended>();
  #whenEmpty: (() => void) | undefined;

  constructor(context: HoldContext) {
    this.#context = {
      ...context,
      onLetGo: (hold, end, error) => {
        this.#letGo(hold, end);
        context.onLetGo(hold, end, error);
      },
    };
  }

  get all(): readonly Hold[] {
    return [...this.#held.values()];
  }

  get valid(): readonly Shard[] {
    return this.all.map(({ shard }) => shard).filter((shard) => shard.isValid());
  }

  /** The shards whose tasks still run although the time to drain is over. */
  get stuck(): readonly Hold[] {
    return [...this.#stuck.values()];
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

  /**
   * Carries out a plan: starts the shards that the plan grants to this session, and ends all others. Ignores a plan that is not
   * newer than the last one.
   */
  apply(plan: Plan, slot: number, session: HeldLeadership, isStopping: boolean): void {
    if (plan.revision <= this.applied || !session.isValid() || session.signal.aborted) return;
    this.applied = plan.revision;
    const member = plan.members.get(slot);
    // The plan may name another session of the slot.
    const isNamed = member?.term === session.term && member.id === idOf(session);
    const granted = new Map([...plan.shards].filter(([, entry]) => isNamed && entry.slot === slot));
    for (const { shard, since } of this.ended) if (granted.get(shard)?.since !== since) this.#ended.delete(shard);
    for (const held of this.all) if (granted.get(held.shard.name)?.since !== held.since) held.leave();
    for (const [shard, { since, leaving }] of granted) {
      const held = this.#held.get(shard);
      if (held) {
        if (leaving) held.leave();
        // The shard's task still runs in an earlier term. A process never runs two tasks of one shard at the same time.
        if (held.since !== since) this.#refuse(shard, since);
      } else if (this.#stuck.has(shard)) this.#refuse(shard, since);
      else if (!leaving && !isStopping && !this.#ended.has(shard)) {
        this.#held.set(shard, new Hold(this.#context, shard, since, session));
      }
    }
  }

  leaveAll(reason?: Error): void {
    for (const held of this.all) held.leave(reason);
  }

  /** Resolves when all shards have been let go. Each task has then settled, or has run for one lease after its time to drain. */
  async empty(): Promise<void> {
    if (this.#held.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
  }

  #refuse(shard: string, since: number): void {
    this.#ended.set(shard, { shard, since, how: "failed" });
  }

  #letGo(hold: Hold, end: Ended): void {
    const { shard, since } = end;
    this.#held.delete(shard);
    if (!hold.isSettled) {
      this.#stuck.set(shard, hold);
      void hold.settled.then(() => this.#stuck.delete(shard));
    }
    // `#refuse` may have recorded a later term of the shard meanwhile.
    if ((this.#ended.get(shard)?.since ?? 0) < since) this.#ended.set(shard, end);
    if (this.#held.size === 0) this.#whenEmpty?.();
  }
}
