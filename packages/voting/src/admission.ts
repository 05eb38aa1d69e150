import type { Ballot, KeptBallots } from "./ballots.ts";
import type { Told } from "./messages.ts";
import { togetherOf, type Ordered } from "./orders.ts";

/**
 * By then no claim that was under way at a server's loss counts votes any more: each stops a tenth before, by its own clock.
 */
export const LONGEST_CLAIM_MS = 10_000;

/** What another server has told since this one was started. */
interface Heard extends Told {
  /** The most that it has heard of this server's writes. */
  readonly seen: number;
  /** When it was asked. */
  readonly askedMs: number;
}

/** What a server begins again with after a loss. */
export interface Beginning {
  readonly ballots: KeptBallots;
  /** Above every number of writes that others remember. */
  readonly writes: number;
}

/**
 * Decides when a server that was started may take part.
 *
 * One whose file is gone may have lost it. It waits for the longest lease that may stand, and until all others but a minority
 * have told it their terms: one of them is in every majority that has elected somebody. A claim that had its vote may still have
 * been under way: either everyone has told, the claimant too, or only what was asked once no such claim counts votes any
 * more is heeded. One whose file is whole may have been given an older one, and anyone may be the only one who
 * remembers: it asks them all, and otherwise waits for the longest lease.
 *
 * One whose file is from another list waits until so many have told it their terms that it is a majority of this list with them,
 * and takes those in: one of them knows what a majority of that list has decided. A majority of the list after this one
 * need not have any server in it that does.
 */
export class Admission {
  readonly #servers: number;
  #sinceMs: number;
  readonly #told = new Map<string, Heard>();
  #forgot: boolean;
  readonly #isMoved: boolean;

  /**
   * @param servers how many there are, this one included.
   * @param isMoved whether its file is from another list.
   */
  constructor(options: {
    readonly servers: number;
    readonly startMs: number;
    readonly forgot: boolean;
    readonly isMoved?: boolean | undefined;
  }) {
    this.#servers = options.servers;
    this.#sinceMs = options.startMs;
    this.#forgot = options.forgot;
    this.#isMoved = options.isMoved === true;
  }

  get forgot(): boolean {
    return this.#forgot;
  }

  /** It has found that its file is older than what others remember of it. */
  loses(nowMs: number): void {
    this.#forgot = true;
    this.#sinceMs = nowMs;
    this.#told.clear();
  }

  hears(from: string, told: Told, seen: number, askedMs: number): void {
    this.#told.set(from, { ...told, seen, askedMs });
  }

  get #haveAllTold(): boolean {
    return this.#told.size === this.#servers - 1;
  }

  /** Nobody that has told has voted. */
  get #isFirstStart(): boolean {
    return [...this.#told.values()].every(({ forgot, isFresh }) => forgot || isFresh);
  }

  /** Those that can tell: beside one that has voted, another that has not begun has lost its file as well. */
  get #telling(): ReadonlyMap<string, Heard> {
    if (this.#isFirstStart) return this.#told;
    return new Map([...this.#told].filter(([, { forgot }]) => !forgot));
  }

  /** All others but a minority. */
  get #needed(): number {
    return Math.min(this.#servers - majorityOf(this.#servers) + 1, this.#servers - 1);
  }

  /** Those of the others that know what they have decided. */
  get #knowing(): readonly Heard[] {
    return [...this.#told.values()].filter(({ forgot }) => !forgot);
  }

  /** So many more have to tell one whose file is from another list, before it is a majority with them. */
  get #missing(): number {
    return this.#isMoved ? majorityOf(this.#servers) - 1 - this.#knowing.length : 0;
  }

  /** A server whose file is whole may take part, as far as it can know. */
  isIntact(longestLeaseMs: number, nowMs: number): boolean {
    if (this.#forgot || this.#missing > 0) return false;
    const told = [...this.#told.values()];
    const longestMs = Math.max(longestLeaseMs, ...told.map((each) => each.longestLeaseMs));
    return this.#haveAllTold || nowMs >= this.#sinceMs + longestMs;
  }

  /**
   * What a server that does not take part yet waits for, in words for a person.
   *
   * @param others all other servers.
   */
  waitsFor(others: readonly string[]): string {
    const unheard = others.filter((name) => !this.#told.has(name)).join(" and ");
    if (!this.#forgot && this.#missing > 0) {
      return `its list of servers has changed: it waits for ${this.#missing} more of the others to tell what they know, with the same list.`;
    }
    if (!this.#forgot) return `its file may be an older one: it waits for ${unheard} to answer, or for the longest lease to end.`;
    const why = "it has lost its file, or never had one";
    const telling = this.#telling;
    const missing = this.#needed - telling.size;
    if (missing <= 0) return `${why}: it waits for the claims and the longest lease to end that it may have known of.`;
    if (unheard !== "") return `${why}: it waits for ${missing} more of the others to tell what they know, of ${unheard}.`;
    const [known, lost] = [[...telling.keys()], others.filter((name) => !telling.has(name))];
    const who = known.join(" and ");
    const how = `stop ${who}, remove what is in its stateDirectory, and start it again`;
    return `${why}, nor does ${lost.join(" and ")}, and ${who} alone cannot tell them all. To begin anew by the clocks, ${how}.`;
  }

  /** What one whose file is from another list goes on with: whatever it or the others know. Undefined where they know no more. */
  movedOn(own: KeptBallots): KeptBallots | undefined {
    if (!this.#isMoved) return undefined;
    const told = this.#knowing;
    const highest = (name: string): number => Math.max(0, ...told.map(({ terms, floor }) => termIn(terms, name) ?? floor));
    const longestMs = Math.max(0, ...told.map((each) => each.longestLeaseMs));
    const before = new Map<string, Ballot>(Object.entries(own.elections));
    const ballots = new Map(before);
    for (const name of new Set([...before.keys(), ...told.flatMap(({ terms }) => Object.keys(terms))])) {
      const known = before.get(name) ?? { term: own.floor, votedFor: null, leaseDurationMs: 0 };
      const isNews = highest(name) > known.term;
      // A lease may stand, of which this one knows nothing, also one of a term below those that it has voted in.
      const mayStand = told.some(({ terms }) => termIn(terms, name) !== undefined) && known.leaseDurationMs < longestMs;
      if (!isNews && !mayStand) continue;
      const present = isNews ? { term: highest(name), votedFor: null } : known;
      ballots.set(name, { ...present, leaseDurationMs: Math.max(known.leaseDurationMs, longestMs) });
    }
    takeOrders(ballots, told);
    const floor = Math.max(own.floor, ...told.map((each) => each.floor));
    const clockFloor = Math.max(own.clockFloor, ...told.map((each) => each.clockFloor));
    const isFresh = own.isFresh && told.every((each) => each.isFresh);
    const isKnown = [...ballots].every(([name, ballot]) => ballot === before.get(name));
    const isSame = isKnown && floor === own.floor && clockFloor === own.clockFloor;
    return isSame ? undefined : { floor, clockFloor, isFresh, elections: Object.fromEntries(ballots) };
  }

  /**
   * What one that has lost its file begins with; undefined until it may. Where none that has told has voted, it is a
   * first start, and the clock tells from which term on anybody is voted for.
   */
  beginning(nowMs: number, wallMs: number): Beginning | undefined {
    const told = [...this.#told.values()];
    const isHeeded = ({ askedMs }: Heard): boolean => this.#haveAllTold || askedMs >= this.#sinceMs + LONGEST_CLAIM_MS;
    if ([...this.#telling.values()].filter(isHeeded).length < this.#needed) return undefined;
    const isFirstStart = this.#isFirstStart;
    const longestMs = Math.max(0, ...told.map((each) => each.longestLeaseMs));
    if (nowMs < this.#sinceMs + longestMs) return undefined;
    const ballots = new Map<string, Ballot>();
    for (const name of new Set(told.flatMap(({ terms }) => Object.keys(terms)))) {
      // One that keeps it no more has known terms up to its floor.
      const term = Math.max(...told.map(({ terms, floor }) => termIn(terms, name) ?? floor));
      // Every lease that it may have acknowledged is over by now.
      ballots.set(name, { term, votedFor: null, leaseDurationMs: 0 });
    }
    const floor = Math.max(0, ...told.map((each) => each.floor));
    const byClock = isFirstStart ? Math.floor(wallMs / 1_000) : 0;
    const clockFloor = Math.max(byClock, ...told.map((each) => each.clockFloor));
    takeOrders(ballots, told);
    const elections = Object.fromEntries(ballots);
    return {
      ballots: { floor, clockFloor, isFresh: isFirstStart, elections },
      writes: Math.max(0, ...told.map(({ seen }) => seen)) + 1,
    };
  }
}

/**
 * Takes in what others have told of orders to the same terms: what a majority has kept is known to one of them, or to this server
 * itself.
 */
function takeOrders(ballots: Map<string, Ballot>, told: readonly Told[]): void {
  for (const [name, ballot] of ballots) {
    const others = told.filter(({ terms, orders }) => termIn(terms, name) === ballot.term && Object.hasOwn(orders, name));
    const { broken, handover } = togetherOf([ballot, ...others.map(({ orders }) => orders[name] as Ordered)]);
    const isNews = broken?.id !== ballot.broken?.id || handover?.id !== ballot.handover?.id;
    if (isNews) ballots.set(name, { ...ballot, broken, handover });
  }
}

function termIn(terms: Told["terms"], election: string): number | undefined {
  return Object.hasOwn(terms, election) ? terms[election] : undefined;
}

/** How many of so many servers are a majority. */
export function majorityOf(servers: number): number {
  return Math.floor(servers / 2) + 1;
}
