import { ConfigurationError } from "@leasehold/core";
import type { LatestReads } from "./latest-reads.ts";
import type { Member } from "./member.ts";
import { refuseTwins } from "./options.ts";
import { areRelated, newestOf, type Roster } from "./roster.ts";

/** Finds members whose stores are not the quorum's: wrong stores, or old backups of the right ones. */
export class WrongStoreCheck {
  readonly #members: readonly Member[];
  readonly #shown: LatestReads<string | null>;
  readonly #rosters: LatestReads<Roster>;

  /** @param shown the marker of each store; null if it has none. @param rosters the roster that each store shows. */
  constructor(members: readonly Member[], shown: LatestReads<string | null>, rosters: LatestReads<Roster>) {
    this.#members = members;
    this.#shown = shown;
    this.#rosters = rosters;
  }

  /**
   * @throws {ConfigurationError} if one member's store was given under another member's name, which only a wrong configuration
   * can cause.
   */
  refuse(present: Roster | undefined): void {
    refuseTwins([...this.#shown].filter(([, marker]) => marker !== null));
    for (const { name, place } of this.#members) {
      if (this.#placeOf(name, present) === undefined) continue;
      throw new ConfigurationError(`The quorum's member ${place} does not count: ${this.whyAbsent(name, present)}`);
    }
  }

  /** Returns why a member does not count, as a sentence, if its store is the reason. */
  whyAbsent(name: string, roster: Roster | undefined): string | undefined {
    const present = roster ?? newestOf([...this.#rosters].map(([, one]) => one));
    if (this.#shown.get(name) === null) {
      const begun = roster ? [] : [...this.#rosters].map(([other]) => other);
      if (begun.length === 0) return "it is empty, and a majority of the others has to take it in.";
      return `it is empty, but a quorum that has begun includes ${begun.join(", ")}: give this process that quorum's stores, or only empty stores.`;
    }
    if (!this.isStranger(name, present)) return undefined;
    const place = this.#placeOf(name, present);
    const [as, otherwise] = place === undefined ? ["", ", or empty this one to have it taken in"] : [`, that of ${place}`, ""];
    return `its store is another one than the quorum's. It has the marker ${this.#shown.get(name)}${as}, and the quorum's has ${present?.incarnations[name]}. Give every process the same stores by the same names${otherwise}.`;
  }

  /** Returns why the claim that a member keeps may keep a quorum from beginning, as a sentence. It must name the present stores. */
  whyClaimed(name: string, roster: Roster | undefined): string | undefined {
    const claim = roster ? undefined : this.#rosters.get(name);
    if (claim?.number !== 0) return undefined;
    const others = [...this.#shown].filter(([other, marker]) => marker !== claim.incarnations[other]).map(([other]) => other);
    if (others.length === 0) return undefined;
    return `its quorum was to begin with another store as ${others.join(", ")}: give every process that store. If no candidate has ever led, stop all processes and empty all stores instead.`;
  }

  /** Reports whether a member's store is not the quorum's, and is never taken in without an administrator. */
  isStranger(name: string, present: Roster | undefined): boolean {
    const marker = this.#shown.get(name);
    if (!present || marker === undefined || marker === null || marker === present.incarnations[name]) return false;
    if (this.#placeOf(name, present) !== undefined || present.past.includes(marker)) return true;
    const roster = this.#rosters.get(name);
    return roster !== undefined && !areRelated(roster, present);
  }

  /** Returns the name of the other member whose store this is; `undefined` if it is no other member's. */
  #placeOf(name: string, present: Roster | undefined): string | undefined {
    const marker = this.#shown.get(name);
    if (!present || typeof marker !== "string" || marker === present.incarnations[name]) return undefined;
    const twin = [...this.#shown].find(([other, shown]) => other !== name && shown === marker)?.[0];
    return twin ?? Object.keys(present.incarnations).find((other) => present.incarnations[other] === marker);
  }
}
