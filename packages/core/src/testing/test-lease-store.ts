import { ConfigurationError, StoreError } from "../reporting/errors.ts";
import { MemoryRecordStore } from "../records/memory-lease-store.ts";
import { RecordLeaseStore, RecordOccurrenceStore } from "../records/record-lease-store.ts";
import {
  fenceOfRecord,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type StoredRecord,
} from "../records/record-store.ts";
import { checkName } from "../store/names.ts";
import { systemClock, type Clock } from "../time/clock.ts";

/** Follows the fake timers of Vitest, Jest and node:test: `Date` serves for both clocks, and is read at each call. */
const fakeTimersClock: Clock = {
  ...systemClock,
  monotonicMs: () => Date.now(),
};

const REQUEST = { signal: new AbortController().signal };

/**
 * A lease store in memory for tests of your own code. The test makes it fail, and makes it lose a lease. It works in real time and
 * under the fake timers of Vitest, Jest and node:test; switch these on before the store is made. Electors on it use its clock. It
 * proves nothing about a real store, and nothing outlives the process.
 *
 * @example
 * ```ts
 * vi.useFakeTimers();
 * const store = new TestLeaseStore();
 * const elector = new Elector({ store, election: "billing" });
 * void elector.run(bill);
 * await vi.advanceTimersByTimeAsync(10);
 * await store.lose("billing");
 * await vi.advanceTimersByTimeAsync(elector.timing.renewIntervalMs);
 * ```
 */
export class TestLeaseStore extends RecordLeaseStore {
  readonly #elections: FallibleRecords;
  readonly #state: { failure: string | undefined };
  readonly #occurrences = new Map<string, FallibleRecords>();

  constructor() {
    const state = { failure: undefined };
    const elections = new FallibleRecords(state);
    super(elections, { clock: fakeTimersClock });
    this.#state = state;
    this.#elections = elections;
  }

  /** Returns the occurrences of a schedule. They fail while the store fails. */
  occurrences(schedule: string): RecordOccurrenceStore {
    checkName("election", schedule);
    const records = this.#occurrences.get(schedule) ?? new FallibleRecords(this.#state);
    this.#occurrences.set(schedule, records);
    return new RecordOccurrenceStore(records, { clock: this.clock });
  }

  /** Makes each request fail, before it changes anything. A leader gives up `renewDeadlineMs` after its last renewal. */
  fail(message: string = "The store is away."): void {
    this.#state.failure = message;
  }

  recover(): void {
    this.#state.failure = undefined;
  }

  /**
   * Gives the lease of an election to another candidate, as after a freeze of the leader. The leader learns it at its next renewal,
   * within `renewIntervalMs`. The other candidate never renews, so that its lease ends by itself. Also works while the store fails.
   * @throws {ConfigurationError} if no candidate leads the election.
   */
  async lose(election: string): Promise<void> {
    checkName("election", election);
    await this.#elections.takeOver(election);
  }
}

class FallibleRecords extends MemoryRecordStore {
  override readonly name: string = "test";
  readonly #state: { readonly failure: string | undefined };

  constructor(state: { readonly failure: string | undefined }) {
    super(fakeTimersClock);
    this.#state = state;
  }

  override async get(election: string, _?: GetOptions): Promise<StoredRecord | undefined> {
    this.#throwIfFailing("get", election);
    return await super.get(election);
  }

  override async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    this.#throwIfFailing("put", election);
    return await super.put(election, record, options);
  }

  async takeOver(election: string): Promise<void> {
    const found = await super.get(election);
    const record = found?.data as LeaseRecord | undefined;
    if (!found || !record || record.termId === null) {
      throw new ConfigurationError(`No candidate leads '${election}', so that there is no lease to lose.`, { election });
    }
    const [termId, nonce] = [fakeTimersClock.randomUuid(), fakeTimersClock.randomUuid()];
    const { term, leaseDurationMs, renewIntervalMs, schema } = record;
    const next = { schema, term: term + 1, termId, candidateId: "another-candidate", nonce };
    const taken: LeaseRecord = { ...next, leaseDurationMs, renewIntervalMs };
    await super.put(election, taken, { ...REQUEST, ifVersion: found.version, keepsNonce: false, fence: fenceOfRecord(taken) });
  }

  #throwIfFailing(operation: string, election: string): void {
    const { failure } = this.#state;
    if (failure === undefined) return;
    const details = { store: this.name, operation, election, mayHaveBeenApplied: false };
    throw new StoreError("STORE_UNAVAILABLE", failure, details);
  }
}
