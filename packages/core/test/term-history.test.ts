import { RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { beforeEach, describe, expect, test } from "vitest";
import { beginTerm, endTerm, historyOf } from "../src/records/term-history.ts";
import { RecordService } from "./faulty-record-store.ts";

const HELD = { term: 7, termId: "t", candidateId: "b" };

describe("the history of a record", () => {
  let clock: VirtualClock;
  let service: RecordService;
  let store: RecordLeaseStore;

  beforeEach(() => {
    clock = new VirtualClock();
    service = new RecordService(clock);
    store = new RecordLeaseStore(service.connect("a"), { clock });
  });

  test("says of each term who led, from when to when, and why it ended", async () => {
    const beganMs = clock.wallMs();
    const released = await win(store);
    await clock.advance(1_000);
    await store.release(released, LIMITS);
    await win(store);
    await store.break(ELECTION, { reason: "stuck", immediate: true });
    await win(store);
    await clock.advance(LEASE_MS);
    const transferred = await win(store);
    const transfer = store.transfer(ELECTION, "b");
    await clock.settle();
    await store.release(transferred, LIMITS);
    await win(store, { candidateId: "b" });
    await clock.runUntil(transfer);
    const term = (number: number, sinceMs: number) => ({ term: number, candidateId: "a", sinceMs: beganMs + sinceMs });

    expect((await store.read(ELECTION))?.history).toEqual([
      { ...term(1, 0), end: "released", untilMs: beganMs + 1_000 },
      { ...term(2, 1_000), end: "broken" },
      { ...term(3, 1_000), end: "expired" },
      { ...term(4, 1_000 + LEASE_MS), end: "transferred", untilMs: beganMs + 1_000 + LEASE_MS },
      { ...term(5, 1_000 + LEASE_MS), candidateId: "b" },
    ]);
    await store.break(ELECTION, { reason: "restore", immediate: true });
    await store.repair(ELECTION, { minTerm: 100 });
    expect((await store.read(ELECTION))?.history?.map(({ term: number }) => number)).toEqual([1, 2, 3, 4, 5]);
  });

  test("says that a term expired whose lease was given to another candidate after its end", async () => {
    await win(store);
    await clock.advance(2 * LEASE_MS);
    const transfer = store.transfer(ELECTION, "b");
    await clock.settle();
    await win(store, { candidateId: "b" });
    await clock.runUntil(transfer);

    expect((await store.read(ELECTION))?.history).toMatchObject([{ term: 1, end: "expired" }, { term: 2 }]);
  });

  test("costs no request: a renewal leaves it as it is", async () => {
    const lease = await win(store);
    const before = service.record(ELECTION)?.history;
    await store.renew(lease, LIMITS);
    expect(service.record(ELECTION)?.history).toBe(before);
  });

  test("is of no importance: a text that cannot be read blocks no candidate, and is replaced", async () => {
    await store.release(await win(store), LIMITS);
    for (const history of ["[", "{}", "[[1]]", `[[1,"a",${Number.MAX_SAFE_INTEGER}]]`, '[[1,"a",1,"eaten"]]']) {
      const stranger = new RecordLeaseStore(service.connect("b"), { clock });
      service.overwrite(ELECTION, { ...service.record(ELECTION), history });
      expect(await stranger.read(ELECTION)).not.toHaveProperty("history");
      const outcome = await stranger.acquire(acquiring());
      expect(outcome).toMatchObject({ acquired: true });
      expect((await stranger.read(ELECTION))?.history).toHaveLength(1);
      if (outcome.acquired) await stranger.release(outcome.lease, LIMITS);
    }
  });
});

describe("the text of a history", () => {
  test("keeps five terms at most", () => {
    let history: string | undefined;
    for (let term = 1; term <= 9; term += 1) {
      history = beginTerm({ ...HELD, term: term - 1, history }, term, `host-${term}-12345-abcdef`, 1_764_000_000_000 + 0.5);
    }
    expect(historyOf({ ...HELD, term: 9, history }).map(({ term }) => term)).toEqual([5, 6, 7, 8, 9]);
    expect(history?.length).toBeLessThan(400);
  });

  test("keeps fewer terms if their candidates have long names, and none of the longest name", () => {
    const long = beginTerm({ ...HELD, history: beginTerm(undefined, 7, "é".repeat(95), 0) }, 8, "é".repeat(95), 0);
    expect(historyOf({ ...HELD, term: 8, history: long }).map(({ term }) => term)).toEqual([8]);
    expect(beginTerm(undefined, 7, "é".repeat(200), 0)).toBe("[]");
  });

  test("of a record that an older version has written since does not take an earlier term for the present one", () => {
    const history = beginTerm(undefined, 5, "a", 0);
    expect(historyOf({ ...HELD, history })).toEqual([{ term: 5, candidateId: "a", sinceMs: 0, end: "unknown" }]);
    expect(historyOf({ ...HELD, history: endTerm({ ...HELD, history }, 9) })).toEqual([
      { term: 5, candidateId: "a", sinceMs: 0, end: "unknown" },
    ]);
  });
});
