import { ConfigurationError, FencedError, StoreError, UnsupportedError } from "@leasehold/core";
import {
  type Clock,
  type StoreClock,
  type StoreMember,
  checkSignal,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  fenceOfRecord,
  ForeignRecordError,
  IMPOSSIBLE_VERSION,
  ExpiringMap,
  type Fenced,
  type GetOptions,
  type Journal,
  type LeaseRecord,
  type ListedRecord,
  type ListRecordsOptions,
  type PutOptions,
  type PutOutcome,
  type RecordRequestOptions,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { MemberList } from "./member-list.ts";
import type { MemberState, Proposal } from "./member-state.ts";
import { Member } from "./member.ts";
import type { Chosen } from "./chosen.ts";
import { callLimits, ROUND_TRIPS } from "./call-limits.ts";
import { gather } from "./gather.ts";
import { Register } from "./register.ts";
import { Membership } from "./membership.ts";
import { MARKER, ROSTER } from "./roster.ts";
import type { Proposer } from "./ballot.ts";

/** Limits of a call about one member. */
export interface MemberCallOptions {
  /** Ends the wait for the members. For `seal` pass the leadership's signal: once it aborts there is no work to prepare. */
  readonly signal?: AbortSignal | undefined;
  /** @defaultValue 5_000 for `seal`, 30_000 for `heal` */
  readonly timeoutMs?: number | undefined;
}

/** The default time of `heal()`, which sends many requests in a row to members that may be slow. */
const HEAL_TIMEOUT_MS = 30_000;
/** The bytes that the quorum's own data may take beside a value. */
const NOTE_BYTES = 2_048;

/**
 * Makes one record store of three or five. A record is stored once a majority of the members has it. The stored state never goes
 * back, whatever happens to a minority of the members; the README says under which conditions.
 */
export class QuorumRecordStore implements RecordStore {
  readonly name: string = "quorum";
  readonly capabilities: RecordStoreCapabilities;
  readonly list?: NonNullable<RecordStore["list"]>;
  readonly #members: readonly Member[];
  readonly #clock: Clock;
  readonly #proposer: Proposer;
  readonly #journal: Journal | undefined;
  readonly #membership: Membership;
  readonly #registers: ExpiringMap<Register>;

  /**
   * @param members the members by name, as {@link checkMembers} returns them.
   * @param journal receives a warning when a member fails, and a message when it answers again.
   * @param membership given if another quorum already keeps track of the same stores.
   */
  constructor(members: Readonly<Record<string, RecordStore>>, clock: Clock, journal?: Journal, membership?: Membership) {
    const names = Object.keys(members).toSorted();
    this.#members = names.map((name) => new Member(name, members[name] as RecordStore, names, clock, journal));
    this.#clock = clock;
    this.#journal = journal;
    this.#proposer = { id: clock.randomUuid(), lastRound: 0 };
    this.#membership = membership ?? new Membership(this.#members, this.#proposer, clock, journal);
    this.#registers = new ExpiringMap(clock);
    if (this.#members.every(({ records }) => records.list !== undefined))
      this.list = (prefix, options) => this.#list(prefix, options);
    const fits = this.#members.map(({ records }) => records.capabilities.maxValueBytes);
    this.capabilities = {
      maxValueBytes: Math.max(Math.min(...fits) - NOTE_BYTES, 0),
      // The other members may choose a term. The member's own fence checks against that term only once it is written there.
      fence: this.#members.some(isFenced) ? "after-seal" : "none",
      storeClock: storeClockOf(this.#members),
      roundTrips: ROUND_TRIPS,
      showsUndurable: this.#members.some(({ records }) => records.capabilities.showsUndurable) || undefined,
    };
  }

  /**
   * Merges the names that a majority of the members has, and then reads each election. A record that was stored is on a majority,
   * so every majority has its name. All names are kept in memory until the list ends.
   */
  async *#list(prefix: string, options: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const { request } = options;
    for (const election of await this.#names(prefix, options)) {
      try {
        const stored = await request(async (limits) => await this.get(election, { ...limits, consistent: false }));
        if (stored) yield { election, stored };
      } catch (error) {
        if (!(error instanceof ForeignRecordError)) throw error;
        yield { election, stored: { data: undefined, version: "" }, problem: error.problem };
      }
    }
  }

  /** Gets the names in rounds: each `request` gets the next page of every member. */
  async #names(prefix: string, { pageSize, request }: ListRecordsOptions): Promise<ReadonlySet<string>> {
    const lists = new Map(
      this.#members.map((member) => [member.name, new MemberList(member, this.#membership, prefix, pageSize)] as const),
    );
    try {
      while (!(await request((limits) => this.#nextPages(prefix, lists, limits))));
    } finally {
      for (const list of lists.values()) list.end();
    }
    return new Set([...lists.values()].flatMap(({ names }) => names).filter((name) => name !== ROSTER && name !== MARKER));
  }

  /**
   * Returns whether a majority of members that count has listed all names. The other members' names are used as well.
   * @throws {StoreError} if no majority can list all names any more.
   */
  async #nextPages(
    prefix: string,
    lists: ReadonlyMap<string, MemberList>,
    { signal, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS }: RecordRequestOptions,
  ): Promise<boolean> {
    const majority = Math.floor(lists.size / 2) + 1;
    const limits = callLimits(this.#clock, signal, timeoutMs);
    await this.#membership.load(limits);
    const leftMs = limits.untilMs - this.#clock.monotonicMs();
    const whole = (): ReadonlyMap<string, MemberState> =>
      new Map([...lists].flatMap(([name, { state }]) => (state ? [[name, state]] : [])));
    const votes = (): number => this.#membership.counting(whole()).size;
    const open = [...lists].filter(([, { isOver }]) => !isOver);
    const requests = new Map(open.map(([name, list]) => [name, list.next(leftMs)]));
    await gather(this.#clock, requests, leftMs, (answers) => {
      const going = [...answers.keys()].filter((name) => !lists.get(name)?.state).length;
      return votes() + going >= majority;
    });
    await this.#membership.follow(Math.max(0, ...[...whole().values()].map(({ roster }) => roster)), limits);
    const count = votes();
    if (count >= majority) return true;
    if (count + [...lists.values()].filter(({ isOver }) => !isOver).length >= majority) return false;
    const cause = [...lists.values()].find(({ failure }) => failure)?.failure?.cause;
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `quorum: ${count} of ${lists.size} members have listed and count; ${majority} must.`,
      { store: this.name, operation: "list", election: prefix, mayHaveBeenApplied: false, cause },
    );
  }

  /** Returns each member and whether it counts, as far as this process knows. */
  members(): readonly StoreMember[] {
    return this.#membership.states.all();
  }

  /** Takes a member in, and brings it the record of each of these elections. See {@link QuorumLeaseStore.heal}. */
  async heal(name: string, elections: readonly string[], { signal, timeoutMs }: MemberCallOptions = {}): Promise<void> {
    this.#member(name);
    checkSignal("heal()", signal, elections[0] ?? ROSTER);
    const limitMs = duration("timeoutMs", timeoutMs ?? HEAL_TIMEOUT_MS);
    const limits = callLimits(this.#clock, signal ?? new AbortController().signal, limitMs);
    await this.#membership.takeIn(name, limits);
    for (const election of elections) await this.#register(election).show(name, () => undefined, limits);
  }

  /** Returns a quorum of other records in the same stores. */
  beside(members: Readonly<Record<string, RecordStore>>): QuorumRecordStore {
    return new QuorumRecordStore(members, this.#clock, this.#journal, this.#membership);
  }

  async get(election: string, options: GetOptions): Promise<StoredRecord | undefined> {
    const { consistent, signal, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
    const limits = callLimits(this.#clock, signal, timeoutMs);
    const register = this.#register(election);
    const isFounded = await this.#membership.load(limits);
    // Reads even before the quorum has begun, because the read rejects if another program has written a record.
    const found = await register.get(consistent, limits).catch((error: unknown) => {
      // A consistent read precedes a write, so it may heal. Other reads never write.
      if (consistent) this.#membership.heal();
      throw error;
    });
    if (!isFounded || !found) return undefined;
    const { storeClock } = this.capabilities;
    const stored = storedOf(found);
    if (!storeClock) return stored;
    const nonceWallMs = storeClock.exact ? undefined : found.proposal.wallMs;
    return { ...stored, nonceAgeMs: found.ageMs, nonceWallMs };
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion, keepsNonce, signal, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
    const limits = callLimits(this.#clock, signal, timeoutMs);
    const register = this.#register(election);
    if (ifVersion === IMPOSSIBLE_VERSION) {
      if (await this.#membership.load(limits)) this.#membership.refuseOthers();
      await register.probe(ifVersion, limits);
      return { stored: false };
    }
    await this.#membership.found(limits);
    // Rounded up, because a smaller age is the safer error.
    const wallMs = keepsNonce ? undefined : Math.ceil(this.#clock.wallMs());
    const proposal = { write: this.#clock.randomUuid(), base: ifVersion ?? null, record, wallMs };
    // Heals also after a failure, because the store that has to be taken in may have caused it.
    const outcome = await register.put(proposal, !keepsNonce, limits).finally(() => this.#membership.heal());
    if (outcome.stored) return { stored: true, version: proposal.write };
    return { stored: false, current: outcome.current && storedOf(outcome.current) };
  }

  /** Makes a member store this leadership's record and fence. See {@link QuorumLeaseStore.seal}. */
  async seal({ election, term, termId }: Fenced, name: string, { signal, timeoutMs }: MemberCallOptions = {}): Promise<void> {
    const member = this.#member(name, election);
    if (!isFenced(member))
      throw new UnsupportedError(`The member ${name} has no fence: a write there cannot be guarded.`, { election });
    checkSignal("seal()", signal, election);
    const limitMs = duration("timeoutMs", timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS);
    const limits = callLimits(this.#clock, signal ?? new AbortController().signal, limitMs);
    await this.#membership.load(limits);
    const check = (chosen: Proposal | undefined): void => {
      const fence = chosen && fenceOfRecord(chosen.record);
      if (fence?.term === term && fence.termId === termId) return;
      throw new FencedError(election, term, fence?.term, `the member ${name}`);
    };
    await this.#register(election).show(name, check, limits);
  }

  #member(name: string, election?: string): Member {
    const member = this.#members.find((one) => one.name === name);
    if (member) return member;
    const names = this.#members.map((one) => one.name).join(", ");
    throw new ConfigurationError(`'${name}' is no member of this quorum, which is of ${names}.`, { election });
  }

  #register(election: string): Register {
    const known = this.#registers.get(election);
    if (known) return known;
    if (election === ROSTER || election === MARKER) {
      throw new ConfigurationError(`'${election}' is the name of a record of the quorum itself: give the election another name.`);
    }
    const register = new Register(election, this.#members, this.#proposer, this.#clock, this.#membership);
    this.#registers.set(election, register);
    return register;
  }
}

function isFenced({ records }: Member): boolean {
  return records.capabilities.fence !== "none";
}

function storedOf({ proposal: { record, write }, knownForMs }: Chosen): StoredRecord {
  return { data: record, version: write, nonceKnownForMs: knownForMs };
}

/**
 * Returns the tolerance of the ages that a majority of the members shows; `undefined` unless every member reports ages.
 *
 * If no clock may step, this is the tolerance of the least exact clock in the most exact majority. If some clocks may step, it is
 * the greatest tolerance of those clocks. The wall clocks of writer and reader must then agree, as with such a store alone.
 */
function storeClockOf(members: readonly Member[]): StoreClock | undefined {
  const clocks = members.flatMap(({ records }) => records.capabilities.storeClock ?? []);
  if (clocks.length < members.length) return undefined;
  const stepping = clocks.filter(({ mayStep }) => mayStep).map(({ toleranceMs }) => toleranceMs);
  const tolerances = clocks.map(({ toleranceMs }) => toleranceMs).toSorted((one, other) => one - other);
  const toleranceMs = stepping.length > 0 ? Math.max(...stepping) : (tolerances[(members.length - 1) / 2] as number);
  return { toleranceMs, exact: clocks.every(({ exact }) => exact), mayStep: stepping.length > 0 };
}
