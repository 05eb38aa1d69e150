// The next plan. Pure. A shard is taken from its holder in one place, `#freeShards`, and only on a fact that stays true.

import { isSession, letGo, MAX_FAILS, ownerOf } from "./plan.ts";
import type { Entry, Freed, Member, Plan, Seen } from "./plan.ts";
import { roomBeside } from "./plan-text.ts";
import type { Report } from "./report.ts";
import { sharesOf } from "./share.ts";

/** The knowledge of a coordinator beside the plan and the slots. None of it takes a shard from its holder, except `over`. */
export interface Wishes {
  /** The names of the shards that there are to be. */
  readonly shards: readonly string[];
  /** False while members come and go: no held shard moves for balance. */
  readonly settled: boolean;
  /** All members poll often by now, so that a freed shard is soon held again. Until then no member is asked to leave a shard. */
  readonly warned: boolean;
  /** Members have only just come. While most shards are free, none is granted yet. */
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
  /** Something is under way, or waits for all members to poll often. */
  readonly busy: boolean;
  /** The shards whose holders are asked to leave for balance alone. */
  readonly moves: number;
  /** Members or shards wait, because the plan has no room for them. */
  readonly isFull: boolean;
}

/** The most moves for balance that are under way at once. */
const MAX_MOVES = 256;

/** A member that can be granted shards. */
interface Able {
  readonly slot: number;
  readonly report: Report;
  /** The shards that count in its share. */
  readonly kept: string[];
  /** The shards that do not: a session has given them back lately. */
  apart: number;
  share: number;
}

/** Returns the plan that follows `old`. */
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
  #changed = false;
  /** The shards whose holders are asked to leave. */
  #underWay = 0;
  /** Something waits until all members poll often, or have come. */
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
    this.#freeShards();
    this.#dropShards();
    this.#addShards();
    const able = this.#able(reports);
    const { free, returned } = this.#count(able);
    this.#askToLeave(able);
    const moves = this.#wishes.settled ? this.#balance(able) : 0;
    this.#grant(able, free, returned);
    const plan = { ...this.#plan, revision: this.#revision, ...this.#settings(able) };
    const busy = this.#pending || this.#underWay > 0;
    return { plan, changed: this.#changed, givenBack: [...this.#givenBack.values()], busy, moves, isFull: this.#isFull };
  }

  /** Drops the sessions that are over, and takes in new ones. Returns the reports of those that live, by slot. */
  #reviseMembers(): Map<number, Report> {
    for (const [slot, member] of this.#old.members) {
      if (this.#wishes.over.has(slot)) this.#changed = true;
      else this.#members.set(slot, member);
    }
    const reports = new Map<number, Report>();
    let room: number | undefined;
    for (const [slot, one] of this.#seen) {
      const known = this.#members.get(slot);
      const isKnown = known !== undefined && isSession(known, one);
      // A coordinator that is new cannot tell whether a session lives. Those that the plan names count as alive.
      const lives = one.state === "held" || (one.state === "unknown" && isKnown);
      if (!lives || !one.report || one.report.stopping) continue;
      // Another session of the slot waits until the former one is known to be over.
      if (known && !isKnown) continue;
      if (!known) {
        room ??= roomBeside([...new Set([...this.#old.shards.keys(), ...this.#wanted])]);
        if (this.#members.size >= room) {
          this.#isFull = true;
          continue;
        }
        this.#members.set(slot, { term: one.term, id: one.report.id, asked: 0 });
        this.#changed = true;
      }
      reports.set(slot, one.report);
    }
    return reports;
  }

  /** The only place where a shard is taken from its holder. */
  #freeShards(): void {
    for (const [shard, entry] of this.#old.shards) {
      const freed = this.#freedBy(shard, entry);
      this.#shards.set(shard, freed ? this.#withoutHolder(shard, entry, freed) : entry);
    }
  }

  /** Drops the free shards that are no longer wanted. A list with gaps needs more room, so they may have to stay for a while. */
  #dropShards(): void {
    const gone = (shard: string): boolean => this.#shards.get(shard)?.slot === undefined && !this.#wanted.has(shard);
    const names = [...this.#shards.keys()];
    const kept = names.filter((shard) => !gone(shard));
    if (kept.length === names.length || roomBeside(kept) < this.#members.size) return;
    for (const shard of names.filter(gone)) this.#shards.delete(shard);
    this.#changed = true;
  }

  #freedBy(shard: string, entry: Entry): Freed | undefined {
    const { slot } = entry;
    const owner = ownerOf(this.#old, entry);
    if (slot === undefined || !owner) return undefined;
    // The slot may have a new session in this plan already.
    if (this.#members.get(slot) !== owner) return "over";
    return letGo(shard, entry, owner, this.#seen.get(slot));
  }

  #withoutHolder(shard: string, { slot = 0, fails }: Entry, freed: Freed): Entry {
    this.#changed = true;
    const how = freed === "returned" && this.#wishes.returned.has(shard) ? "failed" : freed;
    if (how === "over" || how === "left") return { since: 0, leaving: false, fails };
    const failures = { returned: 0, released: fails, failed: Math.min(fails + 1, MAX_FAILS), "failed-late": 1 }[how];
    const owner = this.#old.members.get(slot) as Member;
    this.#givenBack.set(shard, { shard, by: owner.id, how, fails: failures });
    return { since: 0, leaving: false, fails: failures };
  }

  /** Adds the shards for which the plan has room. A larger plan could not be written, and nothing would change any more. */
  #addShards(): void {
    let added = [...this.#wanted].filter((shard) => !this.#shards.has(shard));
    while (added.length > 0 && roomBeside([...this.#shards.keys(), ...added]) < this.#members.size) {
      added = added.slice(0, Math.floor(added.length / 2));
      this.#isFull = true;
    }
    for (const shard of added) {
      this.#shards.set(shard, { since: 0, leaving: false, fails: 0 });
      this.#changed = true;
    }
  }

  /** Returns the members that can be granted shards. */
  #able(reports: ReadonlyMap<number, Report>): Able[] {
    const owners = new Set([...this.#shards.values()].map(({ slot }) => slot));
    const all = [...reports].map(([slot, report]) => ({ slot, report, kept: [], apart: 0, share: 0 }));
    // A process that restarts every few seconds must not draw the shards to its dead sessions.
    const steady = all.filter(({ slot, report }) => report.steady || owners.has(slot));
    return steady.length > 0 ? steady : all;
  }

  /** Counts the shards of each member, and sets its share. Returns the shards that can be granted now. */
  #count(able: readonly Able[]): { free: string[]; returned: string[] } {
    const bySlot = new Map(able.map((one) => [one.slot, one]));
    const free: string[] = [];
    const returned: string[] = [];
    // Shards that rest have their place in the shares all the same. Otherwise one failure would move others.
    let total = 0;
    for (const [shard, { slot, leaving }] of this.#shards) {
      if (leaving) this.#underWay += 1;
      if (!this.#wanted.has(shard)) continue;
      const holder = slot === undefined ? undefined : bySlot.get(slot);
      // A shard that was given back counts apart from the shares, and balance does not move it. Otherwise it would go back.
      if (this.#wishes.returned.has(shard)) {
        if (holder) holder.apart += 1;
        else if (slot === undefined && !this.#wishes.resting.has(shard) && !this.#givenBack.has(shard)) returned.push(shard);
        continue;
      }
      if (slot === undefined || leaving || holder) total += 1;
      // The coordinator notes a return first. Only the next plan may grant the shard.
      const isBack = this.#givenBack.get(shard);
      if (isBack?.how === "returned" || isBack?.how === "released") this.#pending = true;
      else if (slot === undefined && !isBack && !this.#wishes.resting.has(shard)) free.push(shard);
      if (!leaving) holder?.kept.push(shard);
    }
    const sharers = able.map(({ slot, report, kept, apart }) => ({
      slot,
      weight: report.weight,
      most: Math.max(report.maxShards - apart, 0),
      priority: report.priority,
      has: kept.length,
    }));
    const shares = sharesOf(sharers, total);
    for (const one of able) one.share = shares.get(one.slot) ?? 0;
    return { free, returned };
  }

  /** Asks holders to give up a shard that nobody wants any more, and all shards of a member that is stopping. */
  #askToLeave(able: readonly Able[]): void {
    for (const [shard, entry] of this.#shards) {
      const owner = ownerOf(this.#plan, entry);
      if (entry.slot === undefined || !owner || entry.leaving) continue;
      const one = this.#seen.get(entry.slot);
      const stops = isSession(owner, one) && one?.report?.stopping === true;
      if (stops || !this.#wanted.has(shard)) this.#leave(shard, entry, able);
    }
  }

  /** Fences stay on, and the longest lease is kept, because a reader of an old plan may depend on either. */
  #settings(able: readonly Able[]): Pick<Plan, "fenced" | "leaseMs"> {
    const fenced = this.#old.fenced || able.some(({ report }) => report.fenced);
    const leaseMs = Math.max(this.#old.leaseMs, this.#wishes.leaseMs);
    if (fenced !== this.#old.fenced || leaseMs !== this.#old.leaseMs) this.#changed = true;
    return { fenced, leaseMs };
  }

  get #plan(): Plan {
    return { ...this.#old, members: this.#members, shards: this.#shards };
  }

  /** Asks the holder to leave a shard, once all members poll often. It is never undone. */
  #leave(shard: string, entry: Entry, able: readonly Able[]): void {
    const { slot } = entry;
    const owner = slot === undefined ? undefined : this.#members.get(slot);
    if (slot === undefined || !owner) return;
    if (!this.#wishes.warned) {
      this.#pending = true;
      return;
    }
    this.#shards.set(shard, { ...entry, leaving: true });
    this.#members.set(slot, { ...owner, asked: this.#revision });
    const kept = able.find((one) => one.slot === slot)?.kept ?? [];
    const index = kept.indexOf(shard);
    if (index >= 0) kept.splice(index, 1);
    this.#underWay += 1;
    this.#changed = true;
  }

  /** Asks members that have more than their share for their newest shards. Returns how many. */
  #balance(able: readonly Able[]): number {
    let moves = 0;
    for (const { kept, share } of able) {
      const newestFirst = kept.toSorted((a, b) => this.#sinceOf(b) - this.#sinceOf(a));
      for (const shard of newestFirst.slice(0, Math.max(kept.length - share, 0))) {
        if (this.#underWay >= MAX_MOVES) return moves;
        this.#leave(shard, this.#shards.get(shard) as Entry, able);
        if (!this.#wishes.warned) return moves;
        moves += 1;
      }
    }
    return moves;
  }

  #sinceOf(shard: string): number {
    return this.#shards.get(shard)?.since ?? 0;
  }

  #grant(able: readonly Able[], free: readonly string[], returned: readonly string[]): void {
    const without = [...this.#shards.values()].filter(({ slot }) => slot === undefined).length;
    if (this.#wishes.gathering && without > this.#shards.size / 2) {
      this.#pending ||= free.length > 0;
      return;
    }
    for (const shard of free) {
      const best = least(able, ({ share, kept }) => kept.length - share);
      if (!best || best.kept.length >= best.share) break;
      best.kept.push(shard);
      this.#give(shard, best.slot);
    }
    const top = Math.max(...able.map(({ report }) => report.priority));
    for (const shard of returned) {
      const avoided = this.#wishes.returned.get(shard);
      const open = able.filter(({ report, kept, apart }) => kept.length + apart < report.maxShards);
      // Another member, even beyond its share; one of the highest priority first, then the one that has least.
      const others = open.filter(({ report }) => report.id !== avoided);
      const choice = others.length > 0 ? others : open;
      const first = choice.filter(({ report }) => report.priority === top);
      const best = least(first.length > 0 ? first : choice, ({ kept, apart }) => kept.length + apart);
      if (!best) continue;
      best.apart += 1;
      this.#give(shard, best.slot);
    }
  }

  #give(shard: string, slot: number): void {
    const { fails = 0 } = this.#shards.get(shard) ?? {};
    this.#shards.set(shard, { slot, since: this.#revision, leaving: false, fails });
    this.#changed = true;
  }
}

/** Returns the first with the least number; `undefined` if there is none. */
function least<T>(all: readonly T[], numberOf: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || numberOf(one) < numberOf(best)) best = one;
  return best;
}
