import {
  endOfPrefix,
  MemoryRecordStore,
  RecordLeaseStore,
  type ListedRecord,
  type ListRecordsOptions,
} from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { ListedElection, LeaseStore } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { win } from "@leasehold/test-kit/acquisitions";

describe("endOfPrefix", () => {
  test.for([
    ["a", "b"],
    ["a\u00ff", "a\u0100"],
    ["\ud7ff", "\ue000"],
    ["a\uffff", "a\u{10000}"],
    ["a\u{10ffff}\u{10ffff}", "b"],
    ["\u{10ffff}", undefined],
    ["", undefined],
  ] as const)("of %j is %j", ([prefix, end]) => {
    expect(endOfPrefix(prefix)).toBe(end);
  });
});

describe("a list of records", () => {
  const clock = new VirtualClock();

  test("shows a lapsed lease as expired to a process that has listed it before", async () => {
    const records = new MemoryRecordStore(clock);
    const ageless = new Ageless(records);
    await win(new RecordLeaseStore(records, { clock }), { election: "lapsed", leaseDurationMs: 15_000 });
    const reader = new RecordLeaseStore(ageless, { clock });
    expect(await listOf(reader)).toMatchObject([{ election: "lapsed", state: "unknown" }]);
    await clock.advance(15_000);
    expect(await listOf(reader)).toMatchObject([{ election: "lapsed", state: "expired" }]);
  });

  test("reads an election again if the list shows less than this process knows", async () => {
    const records = new MemoryRecordStore(clock);
    const lagging = new Ageless(records);
    const store = new RecordLeaseStore(lagging, { clock });
    const lease = await win(store, { election: "lagging" });
    lagging.shown = [{ election: "lagging", stored: (await records.get("lagging")) as ListedRecord["stored"] }];
    expect(await store.release(lease, { timeoutMs: 1_000 })).toBe("released");
    expect(await listOf(store)).toMatchObject([{ election: "lagging", state: "vacant" }]);
  });

  test("counts each record from the request of its page", async () => {
    const records = new MemoryRecordStore(clock);
    const paged = new Ageless(records);
    const store = new RecordLeaseStore(paged, { clock });
    const other = new RecordLeaseStore(records, { clock });
    const leases = [await win(other, { election: "page 1" }), await win(other, { election: "page 2" })];
    const page =
      (name: string): MemoryRecordStore["list"] =>
      (_, options) =>
        records.list(name, options);
    paged.list = async function* (prefix, options) {
      yield* page("page 1")(prefix, options);
      await clock.advance(10);
      await store.read("page 2");
      await other.release(leases[1]!, { timeoutMs: 1_000 });
      await clock.advance(10);
      yield* page("page 2")(prefix, options);
    };
    expect(await listOf(store)).toMatchObject([{ state: "unknown" }, { election: "page 2", state: "vacant" }]);
  });

  test("is refused at once where the service cannot list", () => {
    const { name, capabilities } = new MemoryRecordStore(clock);
    const records = {
      name,
      capabilities,
      get: () => Promise.reject(new Error("not here")),
      put: () => Promise.reject(new Error("not here")),
    };
    const store = new RecordLeaseStore(records, { clock });
    expect(store.capabilities.list).toBeUndefined();
    expect(() => store.list()).toThrow("memory cannot list its elections. Read each of them by its name.");
  });
});

/** A service that tells no ages, and may show old records in a list. */
class Ageless extends MemoryRecordStore {
  override readonly capabilities = { maxValueBytes: 1_024, fence: "none", storeClock: undefined } as const;
  readonly #records: MemoryRecordStore;
  shown: readonly ListedRecord[] | undefined;

  constructor(records: MemoryRecordStore) {
    super(clockless);
    this.#records = records;
  }

  override get: MemoryRecordStore["get"] = (election) => this.#records.get(election);
  override put: MemoryRecordStore["put"] = (election, record, options) => this.#records.put(election, record, options);

  override async *list(prefix: string, options: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    yield* this.shown ?? this.#records.list(prefix, options);
  }
}

const clockless = new VirtualClock();

async function listOf(store: LeaseStore): Promise<readonly ListedElection[]> {
  return await Array.fromAsync(store.list());
}
