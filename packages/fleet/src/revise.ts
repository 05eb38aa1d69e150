// Computes the next plan, without a clock or a store. Only `revise` takes a shard from its holder, on a fact that stays true.

import { isDeepStrictEqual } from "node:util";
import { isSession, letGo, MAX_FAILS, ownerOf, type Entry, type Freed, type Member, type Plan, type Seen } from "./plan.ts";
import { roomBeside } from "./plan-text.ts";
import type { Report } from "./report.ts";
import { setShares, type Sharer } from "./share.ts";

/** The inputs of the next plan besides the old plan and the slots. Only the input `over` can take a shard from its holder. */
export interface Wishes {
  readonly shards: readonly string[];
  /** False while members join and leave. While it is false, no held shard moves for balance. */
  readonly settled: boolean;
  /** True once all members poll often, so that a freed shard soon has a new holder. Until then no holder is asked to leave. */
  readonly warned: boolean;
  /** True if a member has joined or left a moment ago. While it is true and most shards are free, no shard is granted. */
  readonly gathering: boolean;
  readonly over: ReadonlySet<number>;
  /** The shards that still rest after a failure. */
  readonly resting: ReadonlySet<string>;
  /** The shards that were given back lately, each with the id of its former session. Another return counts as a failure. */
  readonly returned: ReadonlyMap<string, string>;
  /** The longest lease of the sessions that were seen, in milliseconds. */
  readonly leaseMs: number;
}

export interface GivenBack {
  readonly shard: string;
  /** The id of the holder's session. */
  readonly by: string;
  readonly how: Freed;
  /** The number of failures in a row, including this one if it is a failure. */
  readonly fails: number;
}

export interface Revision {
  readonly plan: Plan;
  readonly changed: boolean;
  readonly givenBack: readonly GivenBack[];
  /** True if a change is under way, or has to wait. */
  readonly busy: boolean;
  /** The number of shards whose holders are asked to leave for balance alone. */
  readonly moves: number;
  /** True if the plan has no room for all members and shards. */
  readonly isFull: boolean;
}

/** The most moves for balance that are under way at once. */
const MAX_MOVES = 256;

export function revise(old: Plan, seen: Seen, wishes: Wishes): Revision {
  return new NextPlan(old, seen, wishes).revise();
}

class NextPlan {
  readonly #old: Plan;
  readonly #seen: Seen;
  readonly #wishes: Wishes;
  readonly #wanted: ReadonlySet<string>;
  readonly #revision: number;
  readonly #members = new Map<number, Member>();
  readonly #shards = new Map<string, Entry>();
  readonly #givenBack = new Map<string, GivenBack>();
  #able: readonly Sharer[] = [];
  #underWay = 0;
  /** True if a change waits until all members poll often, or until gathering ends. */
  #pending = false;
  #isFull = false;

  constructor(old: Plan, seen: Seen, wishes: Wishes) {
    this.#old = old;
    this.#seen = seen;
    this.#wishes = wishes;
    this.#wanted = new Set(wishes.shards);
    this.#revision = old.revision + 1;
  }

  revise(): Revision {
    const reports = this.#reviseMembers();
    for (const [shard, entry] of this.#old.shards) this.#shards.set(shard, this.#keptOrFreed(shard, entry));
    this.#dropShards();
    this.#addShards();
    this.#able = this.#findAble(reports);
    const { free, returned } = this.#count();
    this.#askToLeave();
    const moves = this.#wishes.settled ? this.#balance() : 0;
    this.#grant(free, returned);
    const { revision, fenced, leaseMs } = this.#old;
    const plan: Plan = {
      ...this.#old,
      revision: this.#revision,
      // Fences stay on and the longest lease is kept, because a member with an old plan may depend on them.
      fenced: fenced || this.#able.some(({ report }) => report.fenced),
      leaseMs: Math.max(leaseMs, this.#wishes.leaseMs),
      members: this.#members,
      shards: this.#shards,
    };
    const changed = !isDeepStrictEqual({ ...plan, revision }, this.#old);
    const busy = this.#pending || this.#underWay > 0;
    return { plan, changed, givenBack: [...this.#givenBack.values()], busy, moves, isFull: this.#isFull };
  }

  /** Removes the sessions that are over, and adds new ones. Returns the reports of the living sessions, by slot. */
  #reviseMembers(): Map<number, Report> {
    for (const [slot, member] of this.#old.members) if (!this.#wishes.over.has(slot)) this.#members.set(slot, member);
    const room = roomBeside([...new Set([...this.#old.shards.keys(), ...this.#wanted])]);
    const reports = new Map<number, Report>();
    for (const [slot, one] of this.#seen) {
      const { term, state, report } = one;
      const known = this.#members.get(slot);
      const isKnown = known !== undefined && isSession(known, one);
      // A new coordinator cannot know whether a session lives. It counts the sessions in the plan as alive.
      const lives = state === "held" || (state === "unknown" && isKnown);
      // A new session of a slot waits until the slot's former session is over.
      if (!lives || !report || report.stopping || (known && !isKnown)) continue;
      if (!known && this.#members.size >= room) this.#isFull = true;
      else {
        if (!known) this.#members.set(slot, { term, id: report.id, asked: 0 });
        reports.set(slot, report);
      }
    }
    return reports;
  }

  /** Returns the next entry of a shard. Only this method takes a shard from its holder. */
  #keptOrFreed(shard: string, entry: Entry): Entry {
    const { slot = -1, fails: former } = entry;
    const owner = ownerOf(this.#old, entry);
    if (!owner) return entry;
    // The next plan may already name a new session of the slot.
    const freed = this.#members.get(slot) === owner ? letGo(shard, entry, owner, this.#seen.get(slot)) : "over";
    if (!freed) return entry;
    const how = freed === "returned" && this.#wishes.returned.has(shard) ? "failed" : freed;
    if (how === "over" || how === "left") return { ...FREE, fails: former };
    const fails = { returned: 0, released: former, failed: Math.min(former + 1, MAX_FAILS), "failed-late": 1 }[how];
    this.#givenBack.set(shard, { shard, by: owner.id, how, fails });
    return { ...FREE, fails };
  }

  /**
   * Drops the free shards that are no longer wanted. Gaps in the numbers of the remaining shards need more room, because their
   * names are then stored. The shards stay while that room is missing.
   */
  #dropShards(): void {
    const isKept = ([shard, { slot }]: [string, Entry]): boolean => slot !== undefined || this.#wanted.has(shard);
    const kept = new Map([...this.#shards].filter(isKept));
    if (roomBeside([...kept.keys()]) < this.#members.size) return;
    for (const shard of this.#shards.keys()) if (!kept.has(shard)) this.#shards.delete(shard);
  }

  /** Adds as many wanted shards as fit into the plan. A plan that is too large cannot be written. */
  #addShards(): void {
    let added = [...this.#wanted].filter((shard) => !this.#shards.has(shard));
    while (added.length > 0 && roomBeside([...this.#shards.keys(), ...added]) < this.#members.size) {
      added = added.slice(0, Math.floor(added.length / 2));
      this.#isFull = true;
    }
    for (const shard of added) this.#shards.set(shard, FREE);
  }

  #findAble(reports: ReadonlyMap<number, Report>): Sharer[] {
    const owners = new Set(Array.from(this.#shards.values(), ({ slot }) => slot));
    const all = Array.from(reports, ([slot, report]) => ({ slot, report, kept: [], apart: 0, share: 0 }));
    // A process may restart every few seconds. Shards must not move to its short-lived sessions.
    const steady = all.filter(({ slot, report }) => report.steady || owners.has(slot));
    return steady.length > 0 ? steady : all;
  }

  /** Counts the shards of each member, and sets the member's share. Returns the shards that can be granted now. */
  #count(): { free: string[]; returned: string[] } {
    const bySlot = new Map<number | undefined, Sharer>(this.#able.map((one) => [one.slot, one]));
    const free: string[] = [];
    const returned: string[] = [];
    // Resting shards count in the shares, too. Otherwise one failure would move other shards.
    let total = 0;
    for (const [shard, { slot, leaving }] of this.#shards) {
      if (leaving) this.#underWay += 1;
      if (!this.#wanted.has(shard)) continue;
      const holder = bySlot.get(slot);
      // The coordinator first records the return. Only the next plan may grant the shard.
      const isBack = this.#givenBack.get(shard);
      const canBeGranted = slot === undefined && !isBack && !this.#wishes.resting.has(shard);
      // A shard that was given back lately does not count in the shares, nor move for balance. Otherwise it would move back.
      if (this.#wishes.returned.has(shard)) {
        if (holder) holder.apart += 1;
        else if (canBeGranted) returned.push(shard);
        continue;
      }
      if (slot === undefined || leaving || holder) total += 1;
      if (isBack?.how === "returned" || isBack?.how === "released") this.#pending = true;
      if (canBeGranted) free.push(shard);
      if (!leaving) holder?.kept.push(shard);
    }
    setShares(this.#able, total);
    return { free, returned };
  }

  /** Asks holders to leave shards that are no longer wanted. Asks stopping members to leave all of their shards. */
  #askToLeave(): void {
    for (const [shard, { slot = -1, leaving }] of this.#shards) {
      const owner = this.#members.get(slot);
      const one = this.#seen.get(slot);
      const stops = owner && isSession(owner, one) && one?.report?.stopping;
      if (!leaving && (stops || !this.#wanted.has(shard))) this.#leave(shard);
    }
  }

  /** Asks the holder of a shard, if there is one, to leave it, once all members poll often. The request is never withdrawn. */
  #leave(shard: string): void {
    const entry = this.#shards.get(shard) ?? FREE;
    const { slot = -1 } = entry;
    const owner = this.#members.get(slot);
    if (!owner) return;
    if (!this.#wishes.warned) {
      this.#pending = true;
      return;
    }
    this.#shards.set(shard, { ...entry, leaving: true });
    this.#members.set(slot, { ...owner, asked: this.#revision });
    const kept = this.#able.find((one) => one.slot === slot)?.kept ?? [];
    if (kept.includes(shard)) kept.splice(kept.indexOf(shard), 1);
    this.#underWay += 1;
  }

  /** Asks members with too many shards to leave their newest ones. Returns the number of these requests. */
  #balance(): number {
    let moves = 0;
    const sinceOf = (shard: string): number => this.#shards.get(shard)?.since ?? 0;
    for (const { kept, share } of this.#able) {
      const newestFirst = kept.toSorted((a, b) => sinceOf(b) - sinceOf(a));
      for (const shard of newestFirst.slice(0, Math.max(kept.length - share, 0))) {
        if (this.#underWay >= MAX_MOVES) return moves;
        this.#leave(shard);
        if (this.#wishes.warned) moves += 1;
      }
    }
    return moves;
  }

  #grant(free: readonly string[], returned: readonly string[]): void {
    const without = [...this.#shards.values()].filter(({ slot }) => slot === undefined).length;
    if (this.#wishes.gathering && without > this.#shards.size / 2) {
      this.#pending ||= free.length > 0;
      return;
    }
    for (const shard of free) {
      const best = least(this.#able, ({ share, kept }) => kept.length - share);
      if (!best || best.kept.length >= best.share) break;
      best.kept.push(shard);
      this.#give(shard, best.slot);
    }
    for (const shard of returned) {
      const open = this.#able.filter(({ report, kept, apart }) => kept.length + apart < report.maxShards);
      // Prefers other members to the former holder, even beyond their share. Then the highest priority, then the fewest shards.
      const others = open.filter(({ report }) => report.id !== this.#wishes.returned.get(shard));
      const choice = others.length > 0 ? others : open;
      const top = Math.max(...choice.map(({ report }) => report.priority));
      const peers = choice.filter(({ report }) => report.priority === top);
      const best = least(peers, ({ kept, apart }) => kept.length + apart);
      if (!best) continue;
      best.apart += 1;
      this.#give(shard, best.slot);
    }
  }

  #give(shard: string, slot: number): void {
    const { fails } = this.#shards.get(shard) ?? FREE;
    this.#shards.set(shard, { slot, since: this.#revision, leaving: false, fails });
  }
}

/** The entry of a shard without a holder and without failures. */
const FREE: Entry = { since: 0, leaving: false, fails: 0 };

/** Returns the first item with the least number; `undefined` for an empty list. */
function least<T>(all: readonly T[], numberOf: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || numberOf(one) < numberOf(best)) best = one;
  return best;
}
