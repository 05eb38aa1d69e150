/** Tests the messages about members that fail, or that have a wrong store: they name the member and the reason. */
import { ConfigurationError, MemoryLeaseStore, StoreError, type Logger } from "@leasehold/core";
import { IMPOSSIBLE_VERSION, MemoryRecordStore, type PutOutcome, type RecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumLeaseStore } from "../src/index.ts";

const LIMITS = { timeoutMs: 1_000 };
const REQUEST = { election: "e", candidateId: "me", leaseDurationMs: 15_000, renewIntervalMs: 5_000, ...LIMITS };

/** Returns a store that fails while `fails` is true. */
function failing(records: RecordStore): { readonly records: RecordStore; fails: boolean } {
  const details = { store: "memory", operation: "get", mayHaveBeenApplied: false };
  const denied = (): Promise<never> => Promise.reject(new StoreError("STORE_DENIED", "The role may not read.", details));
  const state = {
    fails: false,
    records: {
      name: records.name,
      capabilities: records.capabilities,
      get: (...of: Parameters<RecordStore["get"]>) => (state.fails ? denied() : records.get(...of)),
      put: (...of: Parameters<RecordStore["put"]>) => (state.fails ? denied() : records.put(...of)),
    },
  };
  return state;
}

function log() {
  const lines: string[] = [];
  const line = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  const logger: Logger = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  return { lines, logger };
}

function world() {
  const clock = new VirtualClock();
  const { lines, logger } = log();
  const [a, b, c] = [0, 1, 2].map(() => failing(new MemoryRecordStore(clock)));
  const members = { a: a!.records, b: b!.records, c: c!.records };
  const store = new QuorumLeaseStore({ members, clock, logger });
  return { clock, lines, a: a!, b: b!, store };
}

test("one warning names a member that fails and the reason, and one message says that it answers again", async () => {
  const { clock, lines, b, store } = world();
  const won = await clock.runUntil(store.acquire(REQUEST));
  if (!won.acquired) return expect.fail("Nobody else competes.");
  b.fails = true;
  for (let renewals = 0; renewals < 4; renewals += 1) {
    expect(await clock.runUntil(store.renew(won.lease, LIMITS))).toMatchObject({ held: true });
    await clock.advance(5_000);
  }
  expect(lines).toEqual([
    "warn: The quorum's member b (memory) fails: The role may not read. The others go on as long as they are a majority.",
  ]);

  b.fails = false;
  await clock.runUntil(store.renew(won.lease, LIMITS));
  await clock.advance(1_000);
  expect(lines.slice(1)).toEqual(["info: The quorum's member b (memory) answers again, after 20.0 s."]);
});

test("without a majority the error gives the reason for each missing member", async () => {
  const { clock, a, b, store } = world();
  await clock.runUntil(store.acquire(REQUEST));
  a.fails = true;
  b.fails = true;
  await expect(clock.runUntil(store.read("e", LIMITS))).rejects.toMatchObject({
    code: "STORE_DENIED",
    message: "No majority of a, b, c answers. a: The role may not read. b: The role may not read.",
  });
});

test("two members that are one store are refused by name, at once or when the store's marker shows it", async () => {
  const clock = new VirtualClock();
  const one = new MemoryLeaseStore({ clock });
  const other = new MemoryRecordStore(clock);
  const refusal = "Members a and c are the same store, which would fail together: give each a store of its own.";
  expect(() => new QuorumLeaseStore({ members: { a: one, b: other, c: one }, clock })).toThrow(refusal);

  const again: RecordStore = {
    name: "memory",
    capabilities: one.records.capabilities,
    get: (election, options) => one.records.get(election, options),
    put: (election, record, options) => one.records.put(election, record, options),
  };
  const store = new QuorumLeaseStore({ members: { a: one, b: other, c: again }, clock, logger: false });
  await expect(clock.runUntil(store.acquire(REQUEST))).rejects.toMatchObject({ code: "CONFIGURATION", message: refusal });
});

test("check() refuses a process that uses one store for two members of a quorum that has begun", async () => {
  const { clock, a, b, store } = world();
  await clock.runUntil(store.acquire(REQUEST));
  const again = failing(a.records).records;
  const wrong = new QuorumLeaseStore({ members: { a: a.records, b: b.records, c: again }, clock, logger: false });
  await expect(clock.runUntil(wrong.check({ election: "e", ...LIMITS }))).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/^Members a and c are the same store/),
  });
});

test("one warning in a process names a member whose store is not the quorum's, while the others go on", async () => {
  const { clock, a, b, store } = world();
  await clock.runUntil(store.acquire(REQUEST));
  const { lines, logger } = log();
  const twice = new QuorumLeaseStore({ members: { a: a.records, b: b.records, c: failing(a.records).records }, clock, logger });
  for (let looks = 0; looks < 3; looks += 1) await clock.runUntil(twice.read("e", LIMITS));

  expect(lines).toEqual([
    expect.stringMatching(
      /^warn: The quorum's member c \(memory\) does not count: its store is another one than the quorum's. It has the marker [^,]+, that of a, and the quorum's has [^.]+\. Give every process the same stores by the same names\. The others go on as long as they are a majority\.$/,
    ),
  ]);
});

test("a configuration error of one store names the member", async () => {
  const { clock, a, b } = world();
  const closed = new ConfigurationError("This store was closed.");
  const c: RecordStore = { ...a.records, get: () => Promise.reject(closed), put: () => Promise.reject(closed) };
  const store = new QuorumLeaseStore({ members: { a: a.records, b: b.records, c }, clock, logger: false });

  await expect(clock.runUntil(store.acquire(REQUEST))).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: "The quorum's member c (memory): This store was closed.",
    cause: closed,
  });
});

test.each<readonly [others: "slow" | "refuses", why: string]>([
  ["slow", "no answer in time."],
  ["refuses", "The role may not read."],
])(
  "where a member is slow and another one %s, it is told what they have time for, and how to give them more",
  async (other, why) => {
    const { clock, a, b } = world();
    const hanging = {
      name: "far",
      capabilities: a.records.capabilities,
      get: () => new Promise<never>(() => {}),
      put: () => new Promise<never>(() => {}),
    };
    b.fails = true;
    const c = other === "slow" ? { ...hanging } : b.records;
    const store = new QuorumLeaseStore({ members: { a: a.records, b: hanging, c }, clock, logger: false });

    await expect(clock.runUntil(store.read("e", LIMITS))).rejects.toMatchObject({
      code: other === "slow" ? "STORE_TIMEOUT" : "STORE_DENIED",
      message: `No majority of a, b, c answers. b: no answer in time. c: ${why} Each member has 250 ms for each request, a quarter of attemptTimeoutMs: raise that, or the lease, where they need longer.`,
    });
  },
);

test("check() names a store that carries out a write whose condition cannot hold", async () => {
  const { clock, a, b } = world();
  class Careless extends MemoryRecordStore {
    override async put(...of: Parameters<MemoryRecordStore["put"]>): Promise<PutOutcome> {
      return of[2].ifVersion === IMPOSSIBLE_VERSION ? { stored: true, version: "any" } : await super.put(...of);
    }
  }
  const members = { a: a.records, b: b.records, c: new Careless(clock) };
  const careless = new QuorumLeaseStore({ members, clock, logger: false });
  await clock.runUntil(careless.acquire(REQUEST));

  await expect(clock.runUntil(careless.check({ election: "e" }))).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: "c has carried out a write whose condition cannot have held.",
  });
});

test("a store that was emptied and taken in while a process could not reach it is not reported as another one", async () => {
  const { clock, a, b } = world();
  const kept = [new MemoryRecordStore(clock), new MemoryRecordStore(clock)];
  let now = 0;
  const c: RecordStore = {
    ...a.records,
    get: (...of) => (kept[now] as RecordStore).get(...of),
    put: (...of) => (kept[now] as RecordStore).put(...of),
  };
  const { lines, logger } = log();
  const [mine, theirs] = [failing(c), failing(c)];
  const one = new QuorumLeaseStore({ members: { a: a.records, b: b.records, c: mine.records }, clock, logger: false });
  const other = new QuorumLeaseStore({ members: { a: a.records, b: b.records, c: theirs.records }, clock, logger });
  const won = await clock.runUntil(one.acquire(REQUEST));
  if (!won.acquired) return expect.fail("Nobody else competes.");
  await clock.runUntil(other.read("e", LIMITS));
  now = 1;
  theirs.fails = true;
  for (let renewals = 0; renewals < 4; renewals += 1) {
    await clock.runUntil(one.renew(won.lease, LIMITS));
    await clock.advance(5_000);
  }
  for (let looks = 0; looks < 3; looks += 1) await clock.runUntil(other.read("e", LIMITS));

  expect(lines).toEqual([expect.stringContaining("c (memory) fails: The role may not read.")]);
});
