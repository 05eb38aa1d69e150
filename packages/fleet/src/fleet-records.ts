// The requests of a fleet beside its leases: the plan, the fences of shards, and the list of members.

import { ForeignRecordError, parseLeaseRecord, RECORD_SCHEMA, sendRequest } from "@leasehold/core/provider";
import type { LeaseRecord, RecordLeaseStore, StoredRecord } from "@leasehold/core/provider";
import { LeaseholdError, type LeaseSnapshot, type TimingReport } from "@leasehold/core";
import type { FleetSettings } from "./fleet-options.ts";
import { decodeHead } from "./head.ts";
import type { Shard } from "./hold.ts";
import { decodePlan, encodePlan, MAX_PLAN_BYTES } from "./plan-text.ts";
import { sessionName, type Plan } from "./plan.ts";
import { decodeReport } from "./report.ts";

/** The part of a member's settings that its records need. */
type RecordSettings = Pick<FleetSettings, "store" | "clock" | "names" | "memberId"> & {
  readonly timing: Pick<TimingReport, "leaseDurationMs" | "renewIntervalMs" | "attemptTimeoutMs">;
};

/** The plan with the version of its record. */
export interface StoredPlan {
  readonly plan: Plan;
  readonly version: string;
  /** Random, one for each write. */
  readonly id: string;
  readonly bytes: number;
}

/** A record, or the term that its fence remembers if the record itself is gone. */
interface Found {
  readonly version: string;
  readonly record?: LeaseRecord;
  readonly lostTerm?: number;
}

/** The sessions that a process remembers to have given up. */
const MOST_GIVEN_UP = 1_024;
/**
 * The names of their records with their ids, the last first. The store takes the records for vacant and does not end them, in a later
 * run of the process, too.
 */
const givenUp = new WeakMap<RecordLeaseStore, readonly string[]>();

export class FleetRecords {
  /** The highest revision that an operator has told, as of the last list of the members. */
  told = 0;
  readonly #options: RecordSettings;
  /** The longest that one request may take, in milliseconds. */
  readonly #timeoutMs: number;

  constructor(options: RecordSettings) {
    this.#options = options;
    this.#timeoutMs = options.timing.attemptTimeoutMs;
  }

  /** Reads the plan. @throws if the record is no plan that this version reads. */
  async readPlan(consistent: boolean): Promise<StoredPlan | undefined> {
    const found = await this.#read(this.#options.names.plan, consistent);
    if (!found?.record) return undefined;
    const { value = "", termId } = found.record;
    return { plan: decodePlan(value), version: found.version, id: termId ?? "", bytes: Buffer.byteLength(value) };
  }

  /**
   * Writes a plan in place of the one with this version. Returns `undefined` if another write came first. After a thrown error
   * the outcome is unknown.
   */
  async writePlan(plan: Plan, version: string | undefined): Promise<StoredPlan | undefined> {
    const { names } = this.#options;
    const value = encodePlan(plan);
    const bytes = Buffer.byteLength(value);
    if (bytes > MAX_PLAN_BYTES) {
      throw new Error(`The plan has ${bytes} bytes; ${MAX_PLAN_BYTES} fit. Use fewer shards, shorter names or fewer members.`);
    }
    const id = this.#options.clock.randomUuid();
    const record = this.#record(plan.revision, id, value);
    const written = await this.#put(names.plan, record, version);
    return written === undefined ? undefined : { plan, version: written, id, bytes };
  }

  /** Lists the members, each as of its own read. @throws unless the list is complete. */
  async listMembers(): Promise<Map<number, LeaseSnapshot>> {
    const { store, names } = this.#options;
    const timeoutMs = this.#timeoutMs;
    const found = new Map<number, LeaseSnapshot>();
    for await (const listed of store.list(names.members, { timeoutMs })) {
      const slot = names.slotOf(listed.election);
      if (listed.election === names.told && listed.state !== "foreign") this.told = listed.term;
      if (slot === undefined) continue;
      // A record that is no lease takes its slot, and nothing else. It counts as held by nobody known.
      if (listed.state === "foreign") found.set(slot, { election: listed.election, state: "unknown", term: 0 });
      else found.set(slot, listed);
    }
    return found;
  }

  /** Notes that this process gives the session up: all of its tasks have settled. */
  giveUp(slot: number, id: string): void {
    const { store, names } = this.#options;
    givenUp.set(store, [sessionName(names.member(slot), id), ...(givenUp.get(store) ?? [])].slice(0, MOST_GIVEN_UP));
  }

  /** Reports whether this process has given the session up, in this run or an earlier one. */
  hasGivenUp(slot: number, id: string): boolean {
    const { store, names } = this.#options;
    return givenUp.get(store)?.includes(sessionName(names.member(slot), id)) === true;
  }

  /** Reads a slot's record, by itself and consistently. */
  async readMember(slot: number): Promise<LeaseRecord | undefined> {
    return (await this.#read(this.#options.names.member(slot), true))?.record;
  }

  /**
   * Makes the shard's fence let this leadership pass, and no earlier one. Sends a read and a write. Returns false if another write
   * came first.
   * @throws {FenceAheadError} if the fence has this term or a later one already.
   */
  async seal(shard: Shard): Promise<boolean> {
    const { election, term, termId } = shard;
    const found = await this.#read(election, true);
    if (found?.record?.term === term && found.record.termId === termId) return true;
    const fenceTerm = termOf(found);
    if (fenceTerm >= term) throw new FenceAheadError(shard, fenceTerm);
    return (await this.#put(election, this.#record(term, termId), found?.version, { term, termId })) !== undefined;
  }

  /** Tells the coordinator that the plan has this revision at least, so that it reads the plan. */
  async tell(revision: number): Promise<true> {
    const { told } = this.#options.names;
    for (;;) {
      const found = await this.#read(told, true);
      if (termOf(found) >= revision) return true;
      if ((await this.#put(told, this.#record(revision, null), found?.version)) !== undefined) return true;
    }
  }

  /** Reads what a reset needs of the plan, which may be damaged. */
  async readMark(): Promise<{ revision: number; version: string | undefined; leaseMs: number }> {
    const found = await this.#read(this.#options.names.plan, true);
    let { leaseDurationMs: leaseMs } = this.#options.timing;
    try {
      leaseMs = Math.max(leaseMs, decodePlan(found?.record?.value ?? "").leaseMs);
    } catch {
      // It is damaged, or gone.
    }
    return { revision: termOf(found), version: found?.version, leaseMs };
  }

  /**
   * Returns the highest revision or term of a shard that any record but the plan shows, and the longest lease. The term is
   * `undefined` if there is no such record.
   */
  async highest(): Promise<{ term: number | undefined; leaseMs: number }> {
    const { store, names } = this.#options;
    const timeoutMs = this.#timeoutMs;
    const terms: number[] = [];
    let leaseMs = 0;
    const note = ({ leaseDurationMs = 0 }: Pick<LeaseSnapshot, "leaseDurationMs">, term: number): void => {
      terms.push(term);
      leaseMs = Math.max(leaseMs, leaseDurationMs);
    };
    for (const member of (await this.listMembers()).values()) note(member, decodeReport(member.value)?.applied ?? 0);
    if (this.told > 0) terms.push(this.told);
    const head = await store.read(names.head, { timeoutMs });
    if (head) note(head, decodeHead(head.value).revision);
    for await (const shard of store.list(names.shards, { timeoutMs })) if (shard.state !== "foreign") note(shard, shard.term);
    return { term: terms.length === 0 ? undefined : Math.max(...terms), leaseMs };
  }

  #record(term: number, termId: string | null, value?: string): LeaseRecord {
    const { clock, memberId, timing } = this.#options;
    const { leaseDurationMs, renewIntervalMs } = timing;
    return {
      schema: RECORD_SCHEMA,
      term,
      termId,
      candidateId: memberId,
      ...(value === undefined ? {} : { value }),
      nonce: clock.randomUuid(),
      leaseDurationMs,
      renewIntervalMs,
    };
  }

  async #read(name: string, consistent: boolean): Promise<Found | undefined> {
    const { store } = this.#options;
    const limits = { timeoutMs: this.#timeoutMs, consistent };
    const stored = await this.#send("get", name, (signal) => store.records.get(name, { signal, ...limits }));
    if (!stored) return undefined;
    const { version, lostTerm } = stored;
    return lostTerm === undefined ? { version, record: parsed(name, store.name, stored) } : { version, lostTerm };
  }

  async #put(
    name: string,
    record: LeaseRecord,
    ifVersion: string | undefined,
    fence?: { readonly term: number; readonly termId: string },
  ): Promise<string | undefined> {
    const { store } = this.#options;
    const condition = { ifVersion, timeoutMs: this.#timeoutMs, keepsNonce: false, ...(fence ? { fence } : {}) };
    const outcome = await this.#send("put", name, (signal) => store.records.put(name, record, { signal, ...condition }));
    return outcome.stored ? outcome.version : undefined;
  }

  async #send<T>(operation: "get" | "put", election: string, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, store } = this.#options;
    const timeoutMs = this.#timeoutMs;
    return await sendRequest({ clock, store: store.name, election, operation, timeoutMs, writes: operation === "put" }, send);
  }
}

function termOf(found: Found | undefined): number {
  return found?.record?.term ?? found?.lostTerm ?? 0;
}

/** The fence of a shard has a later term than the plan: the plan was restored, or the fence belongs to another fleet. */
export class FenceAheadError extends LeaseholdError {
  constructor({ election, name, term }: Shard, fenceTerm: number) {
    super(
      "TERM_REGRESSED",
      `The fence of the shard '${name}' has term ${fenceTerm}, and the plan granted the shard in term ${term}. ` +
        "The plan was restored, or another fleet uses the same records. Reset the fleet.",
      { election },
    );
  }
}

function parsed(name: string, store: string, { data }: StoredRecord): LeaseRecord {
  const record = parseLeaseRecord(data);
  if ("problem" in record) throw new ForeignRecordError(name, `the record in ${store}`, record.problem);
  return record;
}
