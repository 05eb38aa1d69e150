// Sends a fleet's requests other than for leases: for the plan, the fences of shards, and the list of members.

import { ForeignRecordError, parseLeaseRecord, RECORD_SCHEMA, sendRequest, sleep } from "@leasehold/core/provider";
import type { LeaseRecord, PutOptions, RecordLeaseStore } from "@leasehold/core/provider";
import { isLeaseholdError, LeaseholdError, type LeaseSnapshot } from "@leasehold/core";
import type { FleetSettings } from "./fleet-options.ts";
import type { Shard } from "./holds.ts";
import { inTurns } from "./in-turns.ts";
import { decodePlan, encodePlan, MAX_PLAN_BYTES } from "./plan-text.ts";
import type { Plan } from "./plan.ts";

type RecordSettings = Pick<FleetSettings, "store" | "clock" | "names" | "memberId" | "timing">;

/** The plan with the version of its record. */
export interface StoredPlan {
  readonly plan: Plan;
  readonly version: string;
  /** A random id of the write that stored this plan. */
  readonly id: string;
  readonly bytes: number;
}

/** A stored record. If the record is gone, only the term that its fence remembers. */
interface Found {
  readonly version: string;
  readonly term: number;
  readonly record?: LeaseRecord;
}

/** The first pause after a failed write of a fence. Each further failure doubles the pause. */
const FIRST_PAUSE_MS = 100;

/**
 * The ids of the sessions that this process has given up, by store, the latest first. If the release of a session failed, this
 * process's store still shows its slot as vacant. A coordinator here ends no vacant session, so it needs the id.
 */
const givenUp = new WeakMap<RecordLeaseStore, readonly string[]>();

export class FleetRecords {
  /** The highest revision that an operator has written, as of the last list of the members. */
  told = 0;
  readonly options: RecordSettings;
  readonly #inTurn = inTurns();

  constructor(options: RecordSettings) {
    this.options = options;
  }

  /** Reads the plan. @throws if this version cannot read the record as a plan. */
  async readPlan(consistent: boolean): Promise<StoredPlan | undefined> {
    const found = await this.read(this.options.names.plan, consistent);
    if (!found?.record) return undefined;
    const { value = "", termId } = found.record;
    return { plan: decodePlan(value), version: found.version, id: termId ?? "", bytes: Buffer.byteLength(value) };
  }

  /** Writes a plan if the stored plan still has this version. Returns `undefined` if another write came first. */
  async writePlan(plan: Plan, ifVersion: string | undefined): Promise<StoredPlan | undefined> {
    const { names, clock } = this.options;
    const value = encodePlan(plan);
    const bytes = Buffer.byteLength(value);
    if (bytes > MAX_PLAN_BYTES)
      throw new Error(`The plan has ${bytes} bytes; ${MAX_PLAN_BYTES} fit. Use fewer shards, shorter names or fewer members.`);
    const id = clock.randomUuid();
    const version = await this.#put(names.plan, { term: plan.revision, termId: id, value }, { ifVersion });
    return version === undefined ? undefined : { plan, version, id, bytes };
  }

  /** Lists the members. The records are not read at one instant. @throws if the list is incomplete. */
  async listMembers(): Promise<Map<number, LeaseSnapshot>> {
    const { store, names, timing } = this.options;
    const found = new Map<number, LeaseSnapshot>();
    for await (const listed of store.list(names.members, { timeoutMs: timing.attemptTimeoutMs })) {
      const { election } = listed;
      const slot = names.slotOf(election);
      if (election === names.told && listed.state !== "foreign") this.told = listed.term;
      // A record that is no lease only occupies its slot. The state of such a slot is `unknown`.
      if (slot !== undefined) found.set(slot, listed.state === "foreign" ? { election, state: "unknown", term: 0 } : listed);
    }
    return found;
  }

  /** Notes that this process gives a session up, all of whose tasks have settled. */
  giveUp(id: string): void {
    const { store } = this.options;
    givenUp.set(store, [id, ...(givenUp.get(store) ?? [])].slice(0, 1_024));
  }

  hasGivenUp(id: string): boolean {
    return givenUp.get(this.options.store)?.includes(id) === true;
  }

  /**
   * Writes the shard's fence, which then refuses all earlier leaderships. Tries again after a failure, until the shard has to stop.
   * @throws {LeaseholdError} `TERM_REGRESSED` if the fence has a later term. The last failure after `drainTimeoutMs`, because a
   *   transaction of the former holder may lock the fence.
   */
  async seal(shard: Shard): Promise<void> {
    const { clock, timing } = this.options;
    const untilMs = clock.monotonicMs() + timing.drainTimeoutMs;
    const mayBegin = (): boolean => !shard.signal.aborted && shard.isValid();
    for (let pauseMs = FIRST_PAUSE_MS; mayBegin(); pauseMs = Math.min(2 * pauseMs, timing.retryPeriodMs)) {
      try {
        return await this.#inTurn(async () => (mayBegin() ? await this.#writeFence(shard) : undefined));
      } catch (error) {
        if (isLeaseholdError(error, "TERM_REGRESSED") || clock.monotonicMs() >= untilMs) throw error;
        await sleep(clock, pauseMs, shard.signal).catch(() => undefined);
      }
    }
  }

  async #writeFence(shard: Shard): Promise<void> {
    const { election, name, term, termId } = shard;
    const found = await this.read(election, true);
    if (found?.record?.term === term && found.record.termId === termId) return;
    if (found && found.term >= term)
      throw new LeaseholdError(
        "TERM_REGRESSED",
        `The fence of the shard '${name}' has term ${found.term}, and the plan granted the shard in term ${term}. ` +
          "The plan was restored, or another fleet uses the same records. Reset the fleet.",
        { election },
      );
    const fence = { term, termId };
    const version = await this.#put(election, fence, { ifVersion: found?.version, fence });
    if (version === undefined) throw new Error(`Another process writes the fence of the shard '${name}' all the time.`);
  }

  /** Records that the plan has at least this revision. The coordinator's next list shows that, so it reads the plan again. */
  async tell(revision: number): Promise<true> {
    const { told } = this.options.names;
    for (;;) {
      const found = await this.read(told, true);
      if (found && found.term >= revision) return true;
      if ((await this.#put(told, { term: revision, termId: null }, { ifVersion: found?.version })) !== undefined) return true;
    }
  }

  /** Reads a record. @throws {ForeignRecordError} if Leasehold has not written the record. */
  async read(name: string, consistent: boolean): Promise<Found | undefined> {
    const { store, timing } = this.options;
    const limits = { timeoutMs: timing.attemptTimeoutMs, consistent };
    const stored = await this.#send("get", name, (signal) => store.records.get(name, { signal, ...limits }));
    if (!stored) return undefined;
    const { version, lostTerm, data } = stored;
    if (lostTerm !== undefined) return { version, term: lostTerm };
    const record = parseLeaseRecord(data);
    if ("problem" in record) throw new ForeignRecordError(name, `the record in ${store.name}`, record.problem);
    return { version, term: record.term, record };
  }

  async #put(
    name: string,
    content: Pick<LeaseRecord, "term" | "termId" | "value">,
    condition: Pick<PutOptions, "ifVersion" | "fence">,
  ): Promise<string | undefined> {
    const { store, clock, memberId: candidateId, timing } = this.options;
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs: timeoutMs } = timing;
    const nonce = clock.randomUuid();
    const record: LeaseRecord = { schema: RECORD_SCHEMA, candidateId, nonce, leaseDurationMs, renewIntervalMs, ...content };
    const options = { ...condition, timeoutMs, keepsNonce: false };
    const outcome = await this.#send("put", name, (signal) => store.records.put(name, record, { signal, ...options }));
    return outcome.stored ? outcome.version : undefined;
  }

  async #send<T>(operation: "get" | "put", election: string, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, store, timing } = this.options;
    const label = { store: store.name, election, operation, writes: operation === "put" };
    return await sendRequest({ ...label, clock, timeoutMs: timing.attemptTimeoutMs }, send);
  }
}
