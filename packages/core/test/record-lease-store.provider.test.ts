import { ConfigurationError, Elector, MemoryLeaseStore, StoreError } from "@leasehold/core";
import {
  MemoryRecordStore,
  RecordLeaseStore,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, RENEW_INTERVAL_MS, win } from "@leasehold/test-kit/acquisitions";
import { RETRY_PERIOD_MS } from "./election-world.ts";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

/** A provider that records the engine's requests. The test sets how its replicas lag. */
class NotingRecordStore implements RecordStore {
  readonly name: string = "noting";
  readonly capabilities: RecordStoreCapabilities;
  /** The writes that were carried out. */
  readonly puts: PutOptions[] = [];
  readonly gets: boolean[] = [];
  /** The record that a replica returns for a read that need not be consistent. */
  replica: { readonly shows: StoredRecord | undefined } | undefined;
  readonly #records: MemoryRecordStore;

  constructor(records: MemoryRecordStore, capabilities: Partial<RecordStoreCapabilities> = {}) {
    this.#records = records;
    this.capabilities = { ...records.capabilities, storeClock: undefined, ...capabilities };
  }

  async get(election: string, { consistent }: GetOptions): Promise<StoredRecord | undefined> {
    this.gets.push(consistent);
    const stored = this.replica && !consistent ? this.replica.shows : await this.#records.get(election);
    return stored && { data: stored.data, version: stored.version };
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const outcome = await this.#records.put(election, record, options);
    if (outcome.stored) this.puts.push(options);
    return outcome;
  }
}

let clock: VirtualClock;
let shared: MemoryRecordStore;
let records: NotingRecordStore;
let store: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  shared = new MemoryRecordStore(clock);
  records = new NotingRecordStore(shared);
  store = new RecordLeaseStore(records, { clock });
});

describe("the fence that a provider is given to write with the record", () => {
  test("opens for the holder at an acquisition and closes at its release; renewals, values and transfers leave it alone", async () => {
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await store.publish(lease, "address", LIMITS);
    const transfer = store.transfer(ELECTION, "b", { transferTimeoutMs: 1_000 });
    await clock.advance(0);
    await store.release(lease, LIMITS);
    await clock.runUntil(transfer);

    expect(records.puts.map(({ fence }) => fence)).toEqual([
      { term: 1, termId: lease.termId },
      undefined,
      undefined,
      undefined,
      { term: 1, termId: null },
    ]);
  });

  test.each([false, true])("closes at a break at once (immediate: %s), and only once", async (immediate) => {
    const lease = await win(store);
    await store.break(ELECTION, { reason: "test", immediate });
    await store.release(lease, LIMITS);

    expect(records.puts.slice(1).map(({ fence }) => fence)).toEqual([
      { term: 1, termId: null },
      ...(immediate ? [] : [undefined]),
    ]);
  });

  test("passes to the next holder", async () => {
    await store.release(await win(store), LIMITS);
    const { termId } = await win(store, { candidateId: "b" });

    expect(records.puts.at(-1)?.fence).toEqual({ term: 2, termId });
  });
});

test("an administrator's write keeps the nonce and says so to the provider; every other write has a new nonce", async () => {
  const lease = await win(store);
  await store.renew(lease, LIMITS);
  const transfer = store.transfer(ELECTION, "b");
  await clock.advance(0);
  await store.break(ELECTION, { reason: "test" });
  await store.release(lease, LIMITS);
  await clock.runUntil(transfer);

  expect(records.puts.map(({ keepsNonce }) => keepsNonce)).toEqual([false, false, true, true, false]);
});

describe("a write that meets another transaction", () => {
  function conflict(mayHaveBeenApplied: boolean): StoreError {
    return new StoreError("STORE_CONFLICT", "in the way", { store: "noting", operation: "put", mayHaveBeenApplied });
  }

  function failing(...errors: StoreError[]): { readonly tries: () => number } {
    const put = records.put.bind(records);
    let tries = 0;
    records.put = async (...args) => {
      tries += 1;
      const error = errors.shift();
      if (error) throw error;
      return await put(...args);
    };
    return { tries: () => tries };
  }

  test("is sent again at once, and counts from before the first try", async () => {
    const lease = await win(store);
    const { tries } = failing(conflict(false), conflict(false));
    const sentMs = clock.monotonicMs();

    const outcome = await clock.runUntil(store.renew(lease, LIMITS));

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(tries()).toBe(3);
    expect(clock.monotonicMs() - sentMs).toBeLessThanOrEqual(60);
  });

  test("gives up after half of its time, with the error, and the next call succeeds", async () => {
    const lease = await win(store);
    const error = conflict(false);
    const { tries } = failing(...Array.from({ length: 1_000 }, () => error));
    const sentMs = clock.monotonicMs();

    await expect(clock.runUntil(store.renew(lease, LIMITS))).rejects.toBe(error);
    const tookMs = clock.monotonicMs() - sentMs;
    expect(tookMs).toBeLessThanOrEqual(LIMITS.timeoutMs / 2);
    expect(tookMs).toBeGreaterThan(LIMITS.timeoutMs / 2 - 100);
    // Ten to twenty milliseconds lie between two tries.
    expect(tries()).toBeGreaterThan(tookMs / 20);
    expect(tries()).toBeLessThanOrEqual(tookMs / 10 + 1);

    records.put = NotingRecordStore.prototype.put.bind(records);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    expect(records.gets).toHaveLength(1);
  });

  test("is sent two hundred times at most", async () => {
    const lease = await win(store);
    const error = conflict(false);
    const { tries } = failing(...Array.from({ length: 1_000 }, () => error));

    await expect(clock.runUntil(store.renew(lease, { timeoutMs: 60_000 }))).rejects.toBe(error);
    expect(tries()).toBe(200);
  });

  test("waits for a random time before it is sent again, of ten to twenty milliseconds", async () => {
    const lease = await win(store);
    const tookMs: number[] = [];
    for (let renewals = 0; renewals < 50; renewals += 1) {
      failing(conflict(false));
      const sentMs = clock.monotonicMs();
      await clock.runUntil(store.renew(lease, LIMITS));
      tookMs.push(clock.monotonicMs() - sentMs);
      records.put = NotingRecordStore.prototype.put.bind(records);
    }

    expect([Math.min(...tookMs) >= 10, Math.min(...tookMs) < 11, Math.max(...tookMs) > 19, Math.max(...tookMs) <= 20]).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test("is known not to be written if the process was frozen before the next try", async () => {
    const lease = await win(store);
    const error = conflict(false);
    const { tries } = failing(error);
    const renewal = store.renew(lease, LIMITS);
    await clock.settle();
    clock.freeze(LIMITS.timeoutMs);

    await expect(clock.runUntil(renewal)).rejects.toBe(error);
    expect(tries()).toBe(1);
  });

  test("is not sent again if it may have been carried out", async () => {
    const lease = await win(store);
    const { tries } = failing(conflict(true));

    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_CONFLICT" });
    expect(tries()).toBe(1);
  });
});

describe("a reply that lags", () => {
  test("serves a standby's poll, and no decision", async () => {
    const other = new RecordLeaseStore(new NotingRecordStore(shared), { clock });
    const lease = await win(other);
    await store.read(ELECTION);
    await store.read(ELECTION);
    await store.read(ELECTION, { expiry: "store-clock" });
    expect(records.gets).toEqual([true, false, true]);

    records.gets.length = 0;
    await store.break(ELECTION, { reason: "test" });
    await other.release(lease, LIMITS);
    const won = await win(new RecordLeaseStore(records, { clock }), { candidateId: "b" });
    expect(won.term).toBe(2);
    expect(records.gets).not.toContain(false);
  });

  test.each(["a version that has passed", "an earlier term", "no record at all"])(
    "causes another read if it shows %s",
    async (what) => {
      const first = await win(store);
      const before = await shared.get(ELECTION);
      await store.release(first, LIMITS);
      const second = await win(store, { candidateId: "b" });
      const shows =
        what === "no record at all"
          ? undefined
          : { data: before?.data, version: what === "an earlier term" ? "other" : before!.version };
      records.replica = { shows };
      records.gets.length = 0;

      await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", holder: "b", term: second.term });
      expect(records.gets).toEqual([false, true]);
    },
  );

  test("elects no second leader, and costs one failed condition", async () => {
    const other = new RecordLeaseStore(new NotingRecordStore(shared), { clock });
    const lease = await win(other);
    await store.read(ELECTION);
    records.replica = { shows: await shared.get(ELECTION) };
    for (let renewals = 0; renewals < 4; renewals += 1) {
      await clock.advance(RENEW_INTERVAL_MS);
      await other.renew(lease, LIMITS);
    }
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "expired" });

    await expect(store.acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({
      acquired: false,
      current: { state: "held", holder: "a" },
    });
    await expect(other.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });
});

test("on a store that pushes, standbys poll only for renewals", async () => {
  const pushing = class extends NotingRecordStore {
    watch(): AsyncIterable<void> {
      throw new Error("not watched here");
    }
  };
  const pushed = new RecordLeaseStore(new pushing(shared), { clock });
  const polled = new RecordLeaseStore(new NotingRecordStore(shared), { clock });
  await win(pushed);
  for (const each of [pushed, polled]) await each.read(ELECTION);

  expect(pushed.nextLookMs(ELECTION, RETRY_PERIOD_MS)).toBe(RENEW_INTERVAL_MS);
  expect(polled.nextLookMs(ELECTION, RETRY_PERIOD_MS)).toBeLessThanOrEqual(RETRY_PERIOD_MS);
});

describe("the elector's expiry option", () => {
  const inexact = { toleranceMs: 100, exact: false };

  async function deadLeader(): Promise<FaultyRecordStore> {
    const service = new RecordService(clock);
    await win(new RecordLeaseStore(service.connect("a"), { clock }));
    const clocked = service.connect("b", { storeClock: inexact });
    clocked.ageMs = [LEASE_MS, LEASE_MS + 1];
    return clocked;
  }

  test("'store-clock' lets a process that has just started replace a dead leader at once; by default it watches first", async () => {
    const clocked = await deadLeader();
    const elector = (expiry?: "store-clock"): Elector =>
      new Elector({ store: new RecordLeaseStore(clocked, { clock }), election: ELECTION, clock, candidateId: "b", expiry });
    const startMs = clock.monotonicMs();
    const stopping = new AbortController();
    const waiting = elector().campaign({ signal: stopping.signal });
    waiting.catch(() => undefined);
    await clock.advance(LEASE_MS - 1);
    stopping.abort();
    await expect(waiting).rejects.toBe(stopping.signal.reason);

    const leadership = await clock.runUntil(elector("store-clock").campaign());
    expect(clock.monotonicMs() - startMs).toBe(LEASE_MS - 1);
    await clock.runUntil(leadership.release());
  });

  test("confirms an inexact clock by a second read, and reads once per poll while somebody leads", async () => {
    const clocked = await deadLeader();
    let reads = 0;
    const get = clocked.get.bind(clocked);
    clocked.get = async (...args) => {
      reads += 1;
      return await get(...args);
    };
    const reader = new RecordLeaseStore(clocked, { clock });
    clocked.ageMs = [100, 200];
    await reader.read(ELECTION, { expiry: "store-clock" });
    expect(reads).toBe(2);
    await reader.read(ELECTION, { expiry: "store-clock" });
    expect(reads).toBe(3);
  });

  test("is refused if it cannot work", () => {
    const polled = new RecordLeaseStore(records, { clock });
    expect(() => new Elector({ store: polled, election: ELECTION, expiry: "store-clock" })).toThrow(ConfigurationError);
    expect(() => new Elector({ store: polled, election: ELECTION, expiry: "wall" as never })).toThrow(/expiry is "wall"/);
    expect(() => new Elector({ store: new MemoryLeaseStore(), election: ELECTION, expiry: "store-clock" })).not.toThrow();
  });
});

test("exposes the record store of its leases", () => {
  expect(store.records).toBe(records);
});
