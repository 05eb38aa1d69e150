import { ConfigurationError } from "@leasehold/core";
import type { Journal } from "@leasehold/core/provider";
import type { Looks } from "./looks.ts";
import type { Member } from "./member.ts";
import { sameStore } from "./options.ts";
import { areRelated, newestOf, type Roster } from "./roster.ts";

const MIXED = "the stores are of two quorums, whose members have the same names: give this process those of one.";

/** Tells which members' stores are none of the quorum's: mistakes in what this process has been given, which only a person can mend. */
export class Strangers {
  readonly #members: readonly Member[];
  readonly #shown: Looks<string | null>;
  readonly #rosters: Looks<Roster>;
  readonly #journal: Journal;
  /** What was said of each member's store, so that it is said once. */
  readonly #told = new Map<string, string>();

  /** @param shown the marker of each store; null where it has none. @param rosters what each has of who the members are. */
  constructor(members: readonly Member[], shown: Looks<string | null>, rosters: Looks<Roster>, journal: Journal) {
    this.#members = members;
    this.#shown = shown;
    this.#rosters = rosters;
    this.#journal = journal;
  }

  /** @throws {ConfigurationError} if a member's store is one that the quorum has replaced, another member's, or another quorum's. */
  refuse(present: Roster | undefined): void {
    refuseTwins([...this.#shown]);
    for (const member of this.#members) {
      const mistake = this.mistakeOf(member.name, present);
      if (mistake !== undefined) throw new ConfigurationError(notCounted(member, mistake));
    }
  }

  /** Why a member does not count, in a sentence, where it is for whose store it is. */
  whyAbsent(name: string, roster: Roster | undefined): string | undefined {
    const shown = [...this.#rosters].map(([, one]) => one);
    const present = roster ?? newestOf(shown);
    if (this.#shown.get(name) === null) {
      const begun = roster ? [] : [...this.#rosters].map(([other]) => other);
      if (begun.length === 0) return "it is empty, and a majority of the others has to take it in.";
      return `it is empty, and ${begun.join(", ")} of a quorum that has begun: give this process the stores of that one, or empty ones alone.`;
    }
    const isMixed = !roster && present && !shown.every((one) => areRelated(one, present));
    return isMixed ? MIXED : this.mistakeOf(name, present);
  }

  /** Why a member's store is none of the quorum's, nor may become one: this process has been given the wrong one. */
  mistakeOf(name: string, present: Roster | undefined): string | undefined {
    const marker = this.#shown.get(name);
    if (!present || marker === undefined || marker === null) return undefined;
    const { incarnations, past } = present;
    const right = incarnations[name];
    if (marker === right) return undefined;
    const twin = [...this.#shown].find(([other, shown]) => other !== name && shown === marker)?.[0];
    if (twin !== undefined) return `it is the same store as ${twin}: give each member a store of its own.`;
    const place = Object.keys(incarnations).find((other) => incarnations[other] === marker);
    if (place !== undefined)
      return `it is the store that the quorum has as ${place}: give every process the same stores by the same names.`;
    if (past.includes(marker)) {
      return `it is the store ${marker}, and the quorum's is ${right}: another one has taken its place. Give this process that one, or empty this one to have it taken in again.`;
    }
    const roster = this.#rosters.get(name);
    if (!roster || areRelated(roster, present)) return undefined;
    return `it is a store of another quorum, whose members have the same names: give this process the store ${right} in its place, or an empty one.`;
  }

  /** Says of a member once that it is another store: nothing else shows it while the others go on. */
  tell(present: Roster | undefined): void {
    for (const member of this.#members) {
      const { name, place } = member;
      const mistake = this.mistakeOf(name, present);
      if (mistake === undefined || this.#told.get(name) === mistake) continue;
      this.#told.set(name, mistake);
      const message = `${notCounted(member, mistake)} The others go on as long as they are a majority.`;
      this.#journal.warn("LEASEHOLD_MEMBER_FAILED", "warn", message, { store: place });
    }
  }
}

function notCounted({ place }: Member, mistake: string): string {
  return `The quorum's member ${place} is not counted: ${mistake}`;
}

/** @throws {ConfigurationError} if two members have one marker: so they are one store. */
export function refuseTwins(marked: ReadonlyArray<readonly [name: string, marker: string | null]>): void {
  for (const [at, [name, marker]] of marked.entries()) {
    const twin = marker === null ? undefined : marked.slice(0, at).find(([, other]) => other === marker)?.[0];
    if (twin !== undefined) throw new ConfigurationError(sameStore(twin, name));
  }
}
