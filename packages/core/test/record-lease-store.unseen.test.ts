import {
  RecordLeaseStore,
  type AcquireOutcome,
  type AcquireRequest,
  type Lease,
  type LeaseRecord,
} from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

let clock: VirtualClock;
let service: RecordService;
let records: FaultyRecordStore;
let store: RecordLeaseStore;
let other: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  records = service.connect("a", { decides: true });
  store = new RecordLeaseStore(records, { clock });
  other = new RecordLeaseStore(service.connect("b"), { clock });
});

/** A record on which nobody leads. */
function vacant(overrides: Partial<LeaseRecord> = {}): LeaseRecord {
  const record = { schema: 3, term: 7, termId: null, candidateId: "b", nonce: "n", leaseDurationMs: LEASE_MS } as const;
  return { ...record, renewIntervalMs: 5_000, ...overrides };
}

async function unseen(overrides: Partial<AcquireRequest> = {}): Promise<AcquireOutcome> {
  const outcome = await store.acquireUnseen?.(acquiring(overrides));
  if (!outcome) throw new Error("It should have sent a request.");
  return outcome;
}

async function winUnseen(overrides: Partial<AcquireRequest> = {}): Promise<Lease> {
  const outcome = await unseen(overrides);
  if (!outcome.acquired) throw new Error(`The lease was not acquired: ${JSON.stringify(outcome)}.`);
  return outcome.lease;
}

function sent(candidate = "a"): string[] {
  return service.log.filter((request) => request.candidate === candidate).map(({ operation }) => operation);
}

test("a store whose service cannot decide has no such call", () => {
  expect(other.acquireUnseen).toBeUndefined();
});

describe("one request is all that it takes", () => {
  test("where there is no record: the first term, or the administrator's", async () => {
    const lease = await winUnseen();
    expect(lease).toMatchObject({ term: 1, candidateId: "a" });
    expect(service.record(ELECTION)).toMatchObject({ schema: 3, term: 1, termId: lease.termId, candidateId: "a" });
    expect(await winUnseen({ election: "another", minTerm: 40, aboveTerm: 12 })).toMatchObject({ term: 40 });
    expect(sent()).toEqual(["put", "put"]);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test.each([
    ["released", {}],
    ["broken, and released since", { broken: { reason: "it hung", id: "order" } }],
  ] as const)("where the lease was %s: the term after it, and nothing is left of the record", async (_, found) => {
    service.overwrite(ELECTION, vacant(found));

    const lease = await winUnseen({ reservation: { group: "east", durationMs: 2 * LEASE_MS }, minTerm: 8, aboveTerm: 7 });

    expect(lease.term).toBe(8);
    expect(service.record(ELECTION)).toEqual({
      ...vacant(),
      term: 8,
      termId: lease.termId,
      candidateId: "a",
      nonce: expect.any(String) as string,
      bars: [{ untilMs: 2 * LEASE_MS, except: { group: "east" } }],
    });
    expect(sent()).toEqual(["put"]);
  });

  test("and the lease counts from before it was sent", async () => {
    records.latencyMs = 800;
    const sentMs = clock.monotonicMs();
    const lease = await clock.runUntil(winUnseen());
    expect([lease.grantedAt.monotonicMs, clock.monotonicMs()]).toEqual([sentMs, sentMs + 800]);
  });
});

describe("nothing is written where a clock, or a memory, has to decide", () => {
  test.each<readonly [string, Partial<LeaseRecord>, Partial<AcquireRequest>]>([
    ["somebody leads", { termId: "t" }, {}],
    ["a hold, over or not", { bars: [{ untilMs: 1, except: null }] }, {}],
    ["a hand-over, also to this candidate", { bars: [{ untilMs: 1, except: { candidateId: "a" }, id: "order" }] }, {}],
    ["a reservation", { bars: [{ untilMs: 1, except: { group: "west" } }] }, {}],
    [
      "a reservation for the candidate's own group",
      { bars: [{ untilMs: 1, except: { group: "east" } }] },
      { reservation: { group: "east", durationMs: 1 } },
    ],
    ["an occurrence that is done", { done: true }, {}],
    ["a term below one that was seen", {}, { aboveTerm: 8 }],
    ["a term that would be below the administrator's", {}, { minTerm: 9 }],
    ["the last term of all", { term: Number.MAX_SAFE_INTEGER }, {}],
  ])("%s", async (_, found, request) => {
    service.overwrite(ELECTION, vacant(found));
    const before = service.record(ELECTION);

    const outcome = await unseen(request);

    expect(outcome).toMatchObject({ acquired: false, proven: true, current: { term: found.term ?? 7 } });
    expect(service.record(ELECTION)).toEqual(before);
  });

  test("a lease that has expired is taken after that: what was refused has shown it, and one write follows", async () => {
    await win(other, { candidateId: "b" });
    expect(await unseen()).toMatchObject({ acquired: false, current: { state: "unknown", holder: "b" } });
    await clock.advance(LEASE_MS);
    expect(await win(store)).toMatchObject({ term: 2 });
    expect(sent()).toEqual(["put", "put"]);
  });

  test("no record is made where terms have been seen: it was lost", async () => {
    await expect(unseen({ aboveTerm: 3 })).resolves.toEqual({ acquired: false, current: undefined, proven: true });
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test.each([{ schema: 3, term: "seven" }, { schema: 2, quorum: "{}" }, { some: "data" }])(
    "what is no lease of ours is an error: %j",
    async (foreign) => {
      service.overwrite(ELECTION, foreign);
      await expect(unseen()).rejects.toMatchObject({ code: "FOREIGN_RECORD" });
      expect(service.record(ELECTION)).toEqual(foreign);
    },
  );

  test("nothing is sent at all where this process has seen last that it would be refused", async () => {
    await win(other, { candidateId: "b" });
    await store.read(ELECTION);
    await expect(store.acquireUnseen?.(acquiring())).resolves.toBeUndefined();
    expect(sent()).toEqual(["get"]);
  });
});

describe("one whose outcome is unknown", () => {
  test("is found by its termId, and counts from its send", async () => {
    records.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    const lease = await clock.runUntil(winUnseen());
    expect([lease.term, lease.grantedAt.monotonicMs]).toEqual([1, sentMs]);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("that was lost is not won; who has won instead is told", async () => {
    service.overwrite(ELECTION, vacant());
    records.failNext("put", { kind: "lost" });
    await expect(clock.runUntil(unseen())).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });

    records.failNext("put", { kind: "lost" });
    const attempt = unseen({ election: "another" });
    await win(other, { election: "another", candidateId: "b" });
    await expect(clock.runUntil(attempt)).resolves.toMatchObject({ acquired: false, current: { holder: "b" } });
  });

  test("that arrives terms later is open to its own process at once, and raises the term", async () => {
    records.failNext("put", { kind: "late", byMs: 9_000 });
    await expect(clock.runUntil(unseen())).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    for (let term = 1; term <= 2; term += 1) {
      const lease = await win(other, { candidateId: "b" });
      await store.read(ELECTION);
      await other.release(lease, LIMITS);
      await store.read(ELECTION);
    }

    await clock.advance(9_000);

    expect(service.record(ELECTION)).toMatchObject({ term: 3, candidateId: "a" });
    expect(await store.read(ELECTION)).toMatchObject({ state: "vacant", term: 3 });
    expect(await win(store)).toMatchObject({ term: 4 });
  });

  test("is remembered for as long as it may be under way, and no longer", async () => {
    service.overwrite(ELECTION, vacant());
    records.failNext("put", { kind: "late", byMs: 1_000_000 });
    await clock.runUntil(unseen().catch(() => undefined));
    await clock.advance(950_000);
    // Each look lets go of what has become too old.
    await store.read(ELECTION);
    await clock.advance(60_000);
    expect(await store.read(ELECTION)).toMatchObject({ state: "unknown", term: 8, holder: "a" });
  });

  test.each([true, false])("that arrives twice is won, though the second answer is a refusal (shown: %s)", async (shown) => {
    const putIfOpen = records.putIfOpen!.bind(records);
    records.putIfOpen = async (...request) => {
      await putIfOpen(...request);
      const second = await putIfOpen(...request);
      return shown ? second : { stored: false };
    };
    const lease = await winUnseen();
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: lease.termId });
  });

  test("that may have arrived twice, while nothing can be read, is open to its own process", async () => {
    const putIfOpen = records.putIfOpen!.bind(records);
    records.putIfOpen = async (...request) => {
      await putIfOpen(...request);
      return { stored: false };
    };
    records.failNext("get", { kind: "unavailable" });
    await expect(unseen()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(service.record(ELECTION)).toMatchObject({ term: 1, candidateId: "a" });
    expect(await store.read(ELECTION)).toMatchObject({ state: "vacant" });
  });

  test("that is carried out once more, after its term was broken at once, gives that term no second life", async () => {
    const lease = await winUnseen();
    const record = service.record(ELECTION)!;
    await other.break(ELECTION, { reason: "it hangs", immediate: true, ...LIMITS });
    service.putIfOpen(ELECTION, record, { mayCreate: true, signal: new AbortController().signal });
    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: lease.termId });

    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "taken" });
    await expect(store.release(lease, LIMITS)).resolves.toBe("not-held");
    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: lease.termId });
    expect(await store.read(ELECTION)).toMatchObject({ state: "vacant", term: 2 });
  });
});
