import type { StateReply } from "./messages.ts";
import type { Ballot, StoredVoterState } from "./voter-state-codec.ts";

/**
 * Upper bound on how long a claim counts votes. Claims stop at 0.9 of it by their own clock. After it, no claim can still use a
 * vote that a lost disk has forgotten.
 */
export const LONGEST_CLAIM_MS = 10_000;

/** The state that another server has reported since this server was started. */
interface PeerState extends StateReply {
  /** The highest write counter of this server that the other one knows. */
  readonly seen: number;
  /** The time at which this server asked for it. */
  readonly askedMs: number;
}

/** The longest lease of each election, in milliseconds. */
type Leases = Readonly<Record<string, number>>;

/** The state with which a server begins again after a loss. */
export interface Beginning {
  readonly ballots: StoredVoterState;
  /** Above every write counter of this server that the others know. */
  readonly writes: number;
}

/**
 * Decides when a server that was started may take part.
 *
 * A server without a file may have lost it. It waits until the longest lease that may be valid has ended, and until all others but
 * a minority have reported their terms. One of them is in every majority that has elected a leader. A claim that had this server's
 * vote may still be under way. So all others must have reported, the claimant included. Or only reports count that were asked for
 * after `LONGEST_CLAIM_MS`, when no such claim counts votes any more.
 *
 * The file of a server may be an older one, and any other server may be the only one that remembers more. So the server asks all
 * others. If one does not answer, it waits in each election for the longest lease of that election, and at last for that of all. So
 * a long lease of one election does not delay the others.
 *
 * A server whose file is from another list takes part once it and the reporting servers are a majority of this list. It takes
 * their terms over: one of them knows what a majority of the former list has decided. A majority of the list after this one may
 * have no such server in it.
 */
export class StartupRecovery {
  readonly #servers: number;
  #sinceMs: number;
  readonly #told = new Map<string, PeerState>();
  #forgot: boolean;
  readonly #isMoved: boolean;
  /** Each other server was asked, and has had its time to answer. */
  hasAsked = false;

  constructor(options: {
    /** The number of servers, this one included. */
    readonly servers: number;
    readonly startMs: number;
    readonly forgot: boolean;
    /** This server's file is from another list. */
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

  /** Records that this server's file is older than what others remember of it. */
  loses(nowMs: number): void {
    this.#forgot = true;
    this.#sinceMs = nowMs;
    this.#told.clear();
  }

  hears(from: string, told: StateReply, seen: number, askedMs: number): void {
    this.#told.set(from, { ...told, seen, askedMs });
  }

  get #haveAllTold(): boolean {
    return this.#told.size === this.#servers - 1;
  }

  /** Every server that has reported is new, or has not voted. */
  get #isFirstStart(): boolean {
    return [...this.#told.values()].every(({ forgot, isFresh }) => forgot || isFresh);
  }

  /** The reports that are usable. Once any server has voted, one that has not begun must have lost its file and is left out. */
  get #telling(): ReadonlyMap<string, PeerState> {
    if (this.#isFirstStart) return this.#told;
    return new Map([...this.#told].filter(([, { forgot }]) => !forgot));
  }

  /** The number of reports that are needed: of all others but a minority. */
  get #needed(): number {
    return Math.min(this.#servers - majorityOf(this.#servers) + 1, this.#servers - 1);
  }

  /** The reports of the servers that have their state. */
  get #knowing(): readonly PeerState[] {
    return [...this.#told.values()].filter(({ forgot }) => !forgot);
  }

  /** The number of reports that a server with a file of another list still lacks. */
  get #missing(): number {
    return this.#isMoved ? majorityOf(this.#servers) - 1 - this.#knowing.length : 0;
  }

  /** Reports whether a server with an intact file may take part. `own` are the leases that the file knows. */
  isIntact(own: Leases, nowMs: number): boolean {
    if (this.#forgot || this.#missing > 0) return false;
    return this.#haveAllTold || nowMs >= this.#sinceMs + this.#longestMs(own);
  }

  /** Reports whether such a server may take part in this election, before it may in all. */
  isIntactIn(election: string, own: Leases, nowMs: number): boolean {
    if (this.#forgot || this.#isMoved || !this.hasAsked) return false;
    const told = [...this.#told.values()];
    // A server of an older version reports only the longest lease.
    const known = [own, ...told.map(({ leases, longestLeaseMs }) => leases ?? { [election]: longestLeaseMs })];
    const leases = known.flatMap((each) => valueIn(each, election) ?? []);
    return nowMs >= this.#sinceMs + (leases.length > 0 ? Math.max(...leases) : this.#longestMs(own));
  }

  #longestMs(own: Leases): number {
    return Math.max(0, ...Object.values(own), ...[...this.#told.values()].map((each) => each.longestLeaseMs));
  }

  /** Returns a sentence for a person: what a server waits for before it takes part. */
  waitsFor(others: readonly string[]): string {
    const unheard = others.filter((name) => !this.#told.has(name)).join(" and ");
    if (!this.#forgot && this.#missing > 0) {
      return `its list of servers has changed: it waits for more servers with the same list to report their state: ${this.#missing}.`;
    }
    if (!this.#forgot)
      return `its file may be an older one: it waits for ${unheard} to answer, or in each election for the longest lease to end.`;
    const why = "it has lost its file, or never had one";
    const telling = this.#telling;
    const missing = this.#needed - telling.size;
    if (missing <= 0) return `${why}: it waits for the claims and the longest lease to end that it may have known of.`;
    if (unheard !== "") return `${why}: it waits for more servers to report their state: ${missing} of ${unheard}.`;
    const [known, lost] = [[...telling.keys()], others.filter((name) => !telling.has(name))];
    const who = known.join(" and ");
    const how = `stop ${who}, remove what is in its stateDirectory, and start it again`;
    return `${why}, nor does ${lost.join(" and ")}, and ${who} alone cannot tell them all. To begin anew by the clocks, ${how}.`;
  }

  /**
   * With a file of another list, returns the merged state of this server and the others; undefined if its own state is
   * complete.
   */
  movedOn(own: StoredVoterState): StoredVoterState | undefined {
    if (!this.#isMoved) return undefined;
    const told = this.#knowing;
    const highest = (name: string): number => Math.max(0, ...told.map(({ terms, floor }) => valueIn(terms, name) ?? floor));
    const longestMs = Math.max(0, ...told.map((each) => each.longestLeaseMs));
    const before = new Map<string, Ballot>(Object.entries(own.elections));
    const ballots = new Map(before);
    for (const name of new Set([...before.keys(), ...told.flatMap(({ terms }) => Object.keys(terms))])) {
      const known = before.get(name) ?? { term: own.floor, votedFor: null, leaseDurationMs: 0 };
      const isNews = highest(name) > known.term;
      // A lease may be valid of which this server knows nothing. Its term may be below those that this server has voted in.
      const mayStand = told.some(({ terms }) => valueIn(terms, name) !== undefined) && known.leaseDurationMs < longestMs;
      if (!isNews && !mayStand) continue;
      const present = isNews ? { term: highest(name), votedFor: null } : known;
      ballots.set(name, { ...present, leaseDurationMs: Math.max(known.leaseDurationMs, longestMs) });
    }
    const floor = Math.max(own.floor, ...told.map((each) => each.floor));
    const clockFloor = Math.max(own.clockFloor, ...told.map((each) => each.clockFloor));
    const isFresh = own.isFresh && told.every((each) => each.isFresh);
    const isKnown = [...ballots].every(([name, ballot]) => ballot === before.get(name));
    const isSame = isKnown && floor === own.floor && clockFloor === own.clockFloor;
    return isSame ? undefined : { floor, clockFloor, isFresh, elections: Object.fromEntries(ballots) };
  }

  /**
   * The state with which a server that has lost its file begins; undefined until it may begin. At a first start, the clock gives
   * the term above which the server votes.
   */
  beginning(nowMs: number, wallMs: number): Beginning | undefined {
    const told = [...this.#told.values()];
    const isHeeded = ({ askedMs }: PeerState): boolean => this.#haveAllTold || askedMs >= this.#sinceMs + LONGEST_CLAIM_MS;
    if ([...this.#telling.values()].filter(isHeeded).length < this.#needed) return undefined;
    const isFirstStart = this.#isFirstStart;
    if (nowMs < this.#sinceMs + this.#longestMs({})) return undefined;
    const ballots = new Map<string, Ballot>();
    for (const name of new Set(told.flatMap(({ terms }) => Object.keys(terms)))) {
      // A server that has dropped the election knew terms up to its floor.
      const term = Math.max(...told.map(({ terms, floor }) => valueIn(terms, name) ?? floor));
      // Every lease that this server may have acknowledged has ended by now.
      ballots.set(name, { term, votedFor: null, leaseDurationMs: 0 });
    }
    const floor = Math.max(0, ...told.map((each) => each.floor));
    const byClock = isFirstStart ? Math.floor(wallMs / 1_000) : 0;
    const clockFloor = Math.max(byClock, ...told.map((each) => each.clockFloor));
    const elections = Object.fromEntries(ballots);
    return {
      ballots: { floor, clockFloor, isFresh: isFirstStart, elections },
      writes: Math.max(0, ...told.map(({ seen }) => seen)) + 1,
    };
  }
}

/** The state that a server reports to another one. */
export function stateReplyOf(
  kept: StoredVoterState,
  flags: Pick<StateReply, "forgot" | "takesPart" | "takesPartIn">,
  leases: Leases,
): StateReply {
  const { elections, ...floors } = kept;
  const terms = Object.fromEntries(Object.entries(elections).map(([name, { term }]) => [name, term]));
  return { kind: "TELL", ...flags, ...floors, terms, longestLeaseMs: Math.max(0, ...Object.values(leases)), leases };
}

function valueIn(values: Readonly<Record<string, number>>, election: string): number | undefined {
  return Object.hasOwn(values, election) ? values[election] : undefined;
}

export function majorityOf(servers: number): number {
  return Math.floor(servers / 2) + 1;
}
