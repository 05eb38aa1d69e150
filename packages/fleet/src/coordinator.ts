// The coordinator is the member that holds the head. Each round reads the slots, computes the next plan and writes it.

import { LeaseholdError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import type { StoredPlan } from "./fleet-records.ts";
import type { FleetContext } from "./fleet-reporter.ts";
import { Lasting } from "./lasting.ts";
import { emptyPlan, type Plan, type Seen } from "./plan.ts";
import { encodeHead, NO_HEAD } from "./plan-text.ts";
import { revise, type GivenBack, type Wishes } from "./revise.ts";
import { ShardList } from "./shard-list.ts";
import { SlotWatch } from "./slot-watch.ts";

/** The least time between two revisions. So a new plan, which begins at the Unix time in seconds, never begins lower. */
const REVISION_MS = 1_000;
/** The coordinator renews the head after this fraction of the renew interval. */
const DUE = 0.9;
/** All members poll the head within this many renew intervals after it shows `isBusy`. */
const WARNED = 1.2;
/** After this many times `settleMs`, a coordinator no longer waits for quiet. It also warns if lists of shards still differ. */
const LONG = 10;

/** The work of one coordinator, from the acquisition of the head to its release or loss. */
export class Coordinator {
  /** True while a change is under way or may soon be needed. */
  isBusy = true;
  /** True once another process may hold the head. */
  isOver = false;
  /** True if the last round found exactly one living member. */
  isAlone = false;
  failures = 0;
  /** The plan of this coordinator's last acknowledged write. While a write is under way, it is unknown which plan is stored. */
  stored: StoredPlan | undefined;
  readonly #context: FleetContext;
  readonly #lease: Lease;
  readonly #lasting: Lasting;
  readonly #watch: SlotWatch;
  readonly #list: ShardList;
  readonly #returns = new Returns();
  /** The last value that was written to the head, and the time of that write. */
  #told = "";
  #toldMs = -Infinity;
  #revisedMs = -Infinity;

  private constructor(context: FleetContext, lease: Lease) {
    this.#context = context;
    this.#lease = lease;
    this.#lasting = new Lasting(context.clock);
    this.#watch = new SlotWatch(context);
    this.#list = new ShardList(context);
  }

  /** Makes one attempt to take the head. @param known here and below: the highest revision that this process knows. */
  static async take(context: FleetContext, known: number): Promise<Coordinator | undefined> {
    const { store, names, memberId, timing } = context;
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs: timeoutMs } = timing;
    const value = encodeHead({ ...NO_HEAD, revision: known });
    const request = { election: names.head, candidateId: memberId, value, leaseDurationMs, renewIntervalMs, timeoutMs };
    const outcome = await store.acquire(request);
    if (!outcome.acquired) return undefined;
    context.reporter.emit("coordinating", { term: outcome.lease.term });
    return new Coordinator(context, outcome.lease);
  }

  /** The time until the next rest of a shard ends. No member reports that end, so the coordinator polls again by then. */
  get dueInMs(): number {
    return this.#returns.nextEndMs(this.#context.clock.monotonicMs());
  }

  async resign(): Promise<void> {
    const { store, timing } = this.#context;
    this.isOver = true;
    await store.release(this.#lease, { timeoutMs: timing.attemptTimeoutMs }).catch(() => undefined);
  }

  async round(known: number): Promise<void> {
    const { clock, timing, reporter, names } = this.#context;
    const nowMs = clock.monotonicMs();
    const isNew = this.#lasting.ms("in office", true) < timing.leaseDurationMs + timing.renewIntervalMs;
    const { seen, isSuspicious, leaseMs } = await this.#watch.look(isNew);
    const stored = await this.#readPlan(seen, known);
    // A first revision is the Unix time, so terms rise even if all records of the fleet were deleted.
    const old = stored?.plan ?? emptyPlan(Math.floor(clock.wallMs() / 1_000), 0);
    // A reset that lasts longer than a reset takes was interrupted.
    const isStuck = this.#lasting.ms("resets", old.isResetting === true) > old.leaseMs + timing.renewIntervalMs;
    const stuck = `A reset of '${names.fleet}' was not finished. Nobody is granted a shard until you reset the fleet again.`;
    reporter.problem("reset", isStuck && stuck);
    const crowd = this.#crowd(seen, stored?.plan);
    await this.#list.refresh([...old.shards.keys()]);
    const over = await this.#watch.over(old, seen);
    const next = revise(old, seen, { ...this.#returns.at(nowMs), ...crowd, over, leaseMs, shards: this.#shards(old, seen) });
    const full = `The plan of the fleet '${names.fleet}' has no room for all members and shards. Those that do not fit wait until others are gone. Use fewer shards, shorter names or fewer members.`;
    reporter.problem("room", next.isFull && full);
    const mayRevise = nowMs - this.#revisedMs >= REVISION_MS && !old.isResetting && !(!stored && crowd.gathering);
    if (next.changed && mayRevise) {
      await this.#write(next.plan, stored?.version);
      this.#revisedMs = nowMs;
      for (const back of next.givenBack) this.#returns.note(back, nowMs);
      if (next.moves > 0) reporter.moved(next.moves);
    }
    this.isBusy = next.busy || isSuspicious || (next.changed && !mayRevise) || !stored;
    this.#lasting.ms("busy", this.isBusy);
    await this.#tell(known, nowMs);
    if (this.stored && !this.isOver) await this.#watch.endDeaf(this.stored.plan, seen);
  }

  /**
   * Returns the plan to revise; `undefined` if there is none. A plan that was only read is written once more, unchanged. After
   * that write is acknowledged, no failover undoes the plan, and no earlier coordinator can replace it.
   * @throws if the plan is gone, or has a lower revision than a process knows. No coordinator changes the plan then.
   */
  async #readPlan(seen: Seen, known: number): Promise<StoredPlan | undefined> {
    const { records, names } = this.#context;
    const highest = Math.max(known, records.told, ...[...seen.values()].map(({ report }) => report?.known ?? 0));
    if (this.stored && this.stored.plan.revision >= highest) return this.stored;
    this.stored = undefined;
    const found = await records.readPlan(true);
    if ((found?.plan.revision ?? 0) < highest)
      throw new LeaseholdError(
        "TERM_REGRESSED",
        `The plan of the fleet '${names.fleet}' ${found ? `shows revision ${found.plan.revision}` : "is gone"}, but the head, a report or this process knows revision ${highest}. ` +
          "Members keep the shards that they have, and nobody is granted another one until the fleet is reset.",
        { election: names.fleet },
      );
    return found && (await this.#write(found.plan, found.version));
  }

  async #write(plan: Plan, version: string | undefined): Promise<StoredPlan> {
    this.stored = undefined;
    const written = await this.#context.records.writePlan(plan, version);
    if (!written) throw new Error(`Another process wrote the plan of '${this.#context.names.fleet}' first.`);
    return (this.stored = written);
  }

  #crowd(seen: Seen, plan: Plan | undefined): Pick<Wishes, "settled" | "warned" | "gathering"> {
    const { settleMs, gatherMs, timing } = this.#context;
    // A session whose state is unknown may live. A stopping session does not count.
    const living = [...seen.values()].filter(({ state }) => state === "held" || state === "unknown");
    const ids = living.flatMap(({ report }) => (report?.stopping === false ? report.id : []));
    const shards = [...(plan?.shards.values() ?? [])];
    const free = shards.filter(({ slot }) => slot === undefined).length;
    const isHeld = shards.length > 0 && free <= shards.length / 2;
    const quietMs = this.#lasting.ms("members", true, ids.toSorted().join());
    const freeMs = this.#lasting.ms("free", ids.length > 0 && !isHeld);
    const busyMs = this.#lasting.ms("busy", this.isBusy);
    this.isAlone = ids.length === 1;
    return {
      // If members join and leave all the time, shards still move for balance after `LONG` times `settleMs`.
      settled: quietMs >= settleMs || busyMs >= LONG * settleMs,
      // Without a living member, no member has to poll first.
      warned: ids.length === 0 || busyMs >= WARNED * timing.renewIntervalMs,
      // Gathering ends after 3 times `gatherMs`, even if members still join and leave.
      gathering: quietMs < gatherMs && freeMs < 3 * gatherMs,
    };
  }

  /** Returns the coordinator's list once all sessions that are not over have an equal one; until then, the plan's shards. */
  #shards(plan: Plan, seen: Seen): readonly string[] {
    const { shards, names, reporter, settleMs, memberId } = this.#context;
    const present = [...plan.shards.keys()];
    // The list of members may lag, so a session that it shows as expired may still live.
    const others = [...seen.values()].flatMap(({ report }) =>
      report && !report.stopping && report.list !== shards.mark ? report.name : [],
    );
    const isAgreed = others.length === 0;
    const isLong = this.#lasting.ms("lists differ", !isAgreed) >= LONG * settleMs;
    const seconds = Math.round((LONG * settleMs) / 1_000);
    const differ = `Members of '${names.fleet}' have had different lists of shards for ${seconds} s: ${others.slice(0, 5).join(", ")} and ${memberId}. The shards stay as they are until all have the same list.`;
    reporter.problem("lists", isLong && differ);
    return (isAgreed || present.length === 0 ? this.#list.list : undefined) ?? present;
  }

  /** Publishes the plan's revision in the head for the members. The same write renews the head. */
  async #tell(known: number, nowMs: number): Promise<void> {
    const { store, timing } = this.#context;
    const { plan, id = "", bytes = 0 } = this.stored ?? {};
    const { revision = known, members } = plan ?? {};
    const value = encodeHead({ revision, id, isBusy: this.isBusy, members: members?.size ?? 0, bytes });
    const isSame = value === this.#told;
    if (isSame && nowMs - this.#toldMs < DUE * timing.renewIntervalMs) return;
    const limits = { timeoutMs: timing.attemptTimeoutMs };
    const outcome = await (isSame ? store.renew(this.#lease, limits) : store.publish(this.#lease, value, limits));
    this.#told = value;
    this.#toldMs = nowMs;
    if (!outcome.held) this.isOver = true;
  }
}

/** The rest after the first failure. Each further failure doubles the rest. */
const FIRST_REST_MS = 2_000;
const LONGEST_REST_MS = 60_000;
/** The end of a long rest is rounded up to a multiple of this time. Many failing shards then need only one change of the plan. */
const GRID_MS = 10_000;
/** For this time after its rest a shard does not count in the shares. Another return in this time counts as a failure. */
const APART_MS = 60_000;

/** The shards that were given back, by the coordinator's monotonic clock. A new coordinator knows none, so rests may be lost. */
class Returns {
  readonly #notes = new Map<string, { by: string; restsUntilMs: number }>();

  note({ shard, by, how, fails }: GivenBack, nowMs: number): void {
    const isWell = how === "returned" || how === "released";
    const restMs = isWell ? 0 : Math.min(FIRST_REST_MS * 2 ** (fails - 1), LONGEST_REST_MS);
    const endMs = nowMs + restMs;
    this.#notes.set(shard, { by, restsUntilMs: restMs < GRID_MS ? endMs : Math.ceil(endMs / GRID_MS) * GRID_MS });
  }

  /** Returns the resting shards, and the shards given back lately, each with the id of its session. Forgets older returns. */
  at(nowMs: number): { resting: Set<string>; returned: Map<string, string> } {
    for (const [shard, { restsUntilMs }] of this.#notes) if (restsUntilMs + APART_MS <= nowMs) this.#notes.delete(shard);
    const lately = [...this.#notes];
    return {
      resting: new Set(lately.filter(([, { restsUntilMs }]) => restsUntilMs > nowMs).map(([shard]) => shard)),
      returned: new Map(lately.map(([shard, { by }]) => [shard, by])),
    };
  }

  nextEndMs(nowMs: number): number {
    const ends = [...this.#notes.values()].map(({ restsUntilMs }) => restsUntilMs - nowMs).filter((ms) => ms > 0);
    return Math.min(...ends, Infinity);
  }
}
