// The next plan. Pure. A shard is taken from its holder in one place, `revise`, and only on a fact that stays true.

import { isSession, letGo, MAX_FAILS, ownerOf } from "./plan.ts";
import type { Entry, Freed, Member, Plan, Seen } from "./plan.ts";
import { roomBeside } from "./plan-text.ts";
import type { Report } from "./report.ts";
import { sharesOf } from "./share.ts";

/** The inputs for the next plan, beside the old plan and the slots. Only `over` can take a shard from its holder. */
export interface Wishes {
  /** The names of the shards that the next plan shall have. */
  readonly shards: readonly string[];
  /** False while members join and leave. Then no held shard moves for balance. */
  readonly settled: boolean;
  /** True once all members poll often, so that a freed shard is soon held again. Until then no member is asked to leave one. */
  readonly warned: boolean;
  /** True if a member joined a moment ago. If most shards are free as well, no shard is granted yet. */
  readonly gathering: boolean;
  /** The slots whose sessions are over. */
  readonly over: ReadonlySet<number>;
  /** The shards whose rest after a failure is not over. */
  readonly resting: ReadonlySet<string>;
  /** The shards that a session has given back lately, with that session's id. Another return counts as a failure. */
  readonly returned: ReadonlyMap<string, string>;
  /** The longest lease of the sessions that were seen, in milliseconds. */
  readonly leaseMs: number;
}

/** A shard that its holder has given back. */
export interface GivenBack {
  readonly shard: string;
  /** The id of the session. */
  readonly by: string;
  readonly how: Freed;
  /** The failures in a row, this one included; 0 if it is none. */
  readonly fails: number;
}

export interface Revision {
  readonly plan: Plan;
  /** False if the plan is the old one, with the next revision. */
  readonly changed: boolean;
  readonly givenBack: readonly GivenBack[];
  /** True if a change is under way, or waits until all members poll often. */
  readonly busy: boolean;
  /** How many shards are asked to leave for balance alone. */
  readonly moves: number;
  /** The plan has no room for all members and shards. */
  readonly isFull: boolean;
}

/** The most moves for balance that are under way at once. */
const MAX_MOVES = 256;

/** A member that can be granted shards. */
interface Able {
  readonly slot: number;
  readonly report: Report;
  /** The shards that count in its share, and the number of those that do not: a session has given them back lately. */
  readonly kept: string[];
  apart: number;
  share: number;
}

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
  readonly #able: Able[] = [];
  /** The shards whose holders are asked to leave. */
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
    // The only place where a shard is taken from its holder.
    for (const [shard, entry] of this.#old.shards) {
      const owner = ownerOf(this.#old, entry);
      const freed = owner && this.#freedBy(shard, entry, owner);
      this.#shards.set(shard, freed ? this.#withoutHolder(shard, entry, owner.id, freed) : entry);
    }
    this.#dropShards();
    this.#addShards();
    this.#findAble(reports);
    const { free, returned } = this.#count();
    this.#askToLeave();
    const moves = this.#wishes.settled ? this.#balance() : 0;
    this.#grant(free, returned);
    const { fenced, leaseMs, ...old } = this.#old;
    const plan: Plan = {
      ...old,
      revision: this.#revision,
      // Fences stay on, and the longest lease is kept, because a reader of an old plan may depend on either.
      fenced: fenced || this.#able.some(({ report }) => report.fenced),
      leaseMs: Math.max(leaseMs, this.#wishes.leaseMs),
      members: this.#members,
      shards: this.#shards,
    };
    const changed =
      plan.fenced !== fenced ||
      plan.leaseMs !== leaseMs ||
      differ(plan.members, this.#old.members) ||
      differ(plan.shards, this.#old.shards);
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
      // A coordinator that is new cannot tell whether a session lives. Those that the plan names count as alive.
      const lives = state === "held" || (state === "unknown" && isKnown);
      // Another session of the slot waits until the former one is known to be over.
      if (!lives || !report || report.stopping || (known && !isKnown)) continue;
      if (!known && this.#members.size >= room) this.#isFull = true;
      else {
        if (!known) this.#members.set(slot, { term, id: report.id, asked: 0 });
        reports.set(slot, report);
      }
    }
    return reports;
  }

  #freedBy(shard: string, entry: Entry, owner: Member): Freed | undefined {
    const { slot = -1 } = entry;
    // The slot may have a new session in this plan already.
    return this.#members.get(slot) === owner ? letGo(shard, entry, owner, this.#seen.get(slot)) : "over";
  }

  #withoutHolder(shard: string, { fails: former }: Entry, by: string, freed: Freed): Entry {
    const how = freed === "returned" && this.#wishes.returned.has(shard) ? "failed" : freed;
    if (how === "over" || how === "left") return { ...FREE, fails: former };
    const fails = { returned: 0, released: former, failed: Math.min(former + 1, MAX_FAILS), "failed-late": 1 }[how];
    this.#givenBack.set(shard, { shard, by, how, fails });
    return { ...FREE, fails };
  }

  /** Drops the free shards that are no longer wanted. A list with gaps needs more room, so they may have to stay for a while. */
  #dropShards(): void {
    const gone = [...this.#shards].filter(([shard, { slot }]) => slot === undefined && !this.#wanted.has(shard));
    const dropped = new Set(gone.map(([shard]) => shard));
    if (roomBeside([...this.#shards.keys()].filter((shard) => !dropped.has(shard))) < this.#members.size) return;
    for (const shard of dropped) this.#shards.delete(shard);
  }

  /** Adds the shards for which the plan has room. A larger plan could not be written, and nothing would change any more. */
  #addShards(): void {
    let added = [...this.#wanted].filter((shard) => !this.#shards.has(shard));
    while (added.length > 0 && roomBeside([...this.#shards.keys(), ...added]) < this.#members.size) {
      added = added.slice(0, Math.floor(added.length / 2));
      this.#isFull = true;
    }
    for (const shard of added) this.#shards.set(shard, FREE);
  }

  #findAble(reports: ReadonlyMap<number, Report>): void {
    const owners = new Set(Array.from(this.#shards.values(), ({ slot }) => slot));
    const all = Array.from(reports, ([slot, report]) => ({ slot, report, kept: [], apart: 0, share: 0 }));
    // A process that restarts every few seconds must not draw the shards to its dead sessions.
    const steady = all.filter(({ slot, report }) => report.steady || owners.has(slot));
    this.#able.push(...(steady.length > 0 ? steady : all));
  }

  /** Counts the shards of each member, and sets its share. Returns the shards that can be granted now. */
  #count(): { free: string[]; returned: string[] } {
    const bySlot = new Map<number | undefined, Able>(this.#able.map((one) => [one.slot, one]));
    const free: string[] = [];
    const returned: string[] = [];
    // Resting shards are counted in the shares, too. Otherwise one failure would move other shards.
    let total = 0;
    for (const [shard, { slot, leaving }] of this.#shards) {
      if (leaving) this.#underWay += 1;
      if (!this.#wanted.has(shard)) continue;
      const holder = bySlot.get(slot);
      // The coordinator notes a return first. Only the next plan may grant the shard.
      const isBack = this.#givenBack.get(shard);
      const canBeGranted = slot === undefined && !isBack && !this.#wishes.resting.has(shard);
      // A shard that was given back counts apart from the shares, and balance does not move it. Otherwise it would go back.
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
    const sharers = this.#able.map(({ slot, report: { weight, maxShards, priority }, kept, apart }) => {
      return { slot, weight, most: Math.max(maxShards - apart, 0), priority, has: kept.length };
    });
    const shares = sharesOf(sharers, total);
    for (const one of this.#able) one.share = shares.get(one.slot) ?? 0;
    return { free, returned };
  }

  /** Asks holders to give up a shard that nobody wants any more, and all shards of a member that is stopping. */
  #askToLeave(): void {
    for (const [shard, entry] of this.#shards) {
      const { slot, leaving } = entry;
      const owner = slot === undefined ? undefined : this.#members.get(slot);
      if (slot === undefined || !owner || leaving) continue;
      const one = this.#seen.get(slot);
      const stops = isSession(owner, one) && one?.report?.stopping === true;
      if (stops || !this.#wanted.has(shard)) this.#leave(shard);
    }
  }

  /** Asks the holder to leave a shard, once all members poll often. It is never undone. */
  #leave(shard: string): void {
    const entry = this.#shards.get(shard);
    const owner = entry?.slot === undefined ? undefined : this.#members.get(entry.slot);
    if (entry?.slot === undefined || !owner) return;
    if (!this.#wishes.warned) {
      this.#pending = true;
      return;
    }
    this.#shards.set(shard, { ...entry, leaving: true });
    this.#members.set(entry.slot, { ...owner, asked: this.#revision });
    const kept = this.#able.find(({ slot }) => slot === entry.slot)?.kept ?? [];
    if (kept.includes(shard)) kept.splice(kept.indexOf(shard), 1);
    this.#underWay += 1;
  }

  /** Asks members that have more than their share for their newest shards. Returns how many. */
  #balance(): number {
    let moves = 0;
    const sinceOf = (shard: string): number => this.#shards.get(shard)?.since ?? 0;
    for (const { kept, share } of this.#able) {
      const newestFirst = kept.toSorted((a, b) => sinceOf(b) - sinceOf(a));
      for (const shard of newestFirst.slice(0, Math.max(kept.length - share, 0))) {
        if (this.#underWay >= MAX_MOVES) return moves;
        this.#leave(shard);
        if (!this.#wishes.warned) return moves;
        moves += 1;
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
      const avoided = this.#wishes.returned.get(shard);
      const open = this.#able.filter(({ report, kept, apart }) => kept.length + apart < report.maxShards);
      // Another member, even beyond its share; one of the highest priority first, then the one that has least.
      const others = open.filter(({ report }) => report.id !== avoided);
      const choice = others.length > 0 ? others : open;
      const top = Math.max(...choice.map(({ report }) => report.priority));
      const best = least(
        choice.filter(({ report }) => report.priority === top),
        ({ kept, apart }) => kept.length + apart,
      );
      if (!best) continue;
      best.apart += 1;
      this.#give(shard, best.slot);
    }
  }

  #give(shard: string, slot: number): void {
    const { fails = 0 } = this.#shards.get(shard) ?? {};
    this.#shards.set(shard, { slot, since: this.#revision, leaving: false, fails });
  }
}

/** A shard that nobody has, and that has not failed. */
const FREE: Entry = { since: 0, leaving: false, fails: 0 };

function differ<K, V>(all: ReadonlyMap<K, V>, former: ReadonlyMap<K, V>): boolean {
  return all.size !== former.size || [...all].some(([key, value]) => former.get(key) !== value);
}

/** Returns the first with the least number; `undefined` if there is none. */
function least<T>(all: readonly T[], numberOf: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || numberOf(one) < numberOf(best)) best = one;
  return best;
}
