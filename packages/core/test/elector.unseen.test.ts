import { StoreError } from "@leasehold/core";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, type Candidate } from "./election-world.ts";

let world: ElectionWorld;
let a: Candidate;
let b: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a", { decides: true });
  b = world.candidate("b", { decides: true });
});

function sent(candidate: string): string[] {
  return world.service.log.filter((request) => request.candidate === candidate).map(({ operation }) => operation);
}

describe("tryRun", () => {
  test("leads after one request, and releases with another", async () => {
    await expect(a.elector.tryRun(({ term }) => term)).resolves.toEqual({ elected: true, term: 1, result: 1 });
    await expect(b.elector.tryRun(({ term }) => term)).resolves.toEqual({ elected: true, term: 2, result: 2 });
    expect([sent("a"), sent("b")]).toEqual([
      ["put", "put"],
      ["put", "put"],
    ]);
  });

  test("is told who leads by the refusal, and looks from then on", async () => {
    const leadership = await a.elector.campaign();
    for (let tries = 0; tries < 3; tries += 1) {
      const leader = { candidateId: "a", term: 1, state: "unknown" };
      await expect(b.elector.tryRun(() => "ran")).resolves.toEqual({ elected: false, leader });
    }
    expect(sent("b")).toEqual(["put", "get", "get"]);
    await leadership.release();
  });

  test("takes a lease that has expired by what the refusal has shown, with one write more", async () => {
    const leadership = await a.elector.campaign();
    await b.elector.tryRun(() => "ran");
    a.records.failAll({ kind: "lost" });
    await world.clock.advance(LEASE_MS);
    await expect(b.elector.tryRun(({ term }) => term)).resolves.toMatchObject({ elected: true, term: 2 });
    expect(sent("b")).toEqual(["put", "get", "put", "put"]);
    await leadership.release();
  });

  test("looks first while an attempt may still arrive, so that no more of them gather while nothing answers", async () => {
    a.records.failAll({ kind: "lost" });
    for (let tries = 0; tries < 3; tries += 1) {
      const attempt = a.elector.tryRun(() => "ran");
      await expect(world.clock.runUntil(attempt)).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    }
    expect(sent("a")).toEqual(["put", "get", "get", "get"]);
  });

  test("has had no contact with a store before that answers, whether it decides or not", async () => {
    for (const candidate of [a, world.candidate("c")]) {
      candidate.records.failAll({ kind: "unavailable" });
      await expect(candidate.elector.tryRun(() => "ran")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(candidate.elector.health()).not.toHaveProperty("lastContactAgeMs");
    }
  });

  test("looks at once where its attempt meets a transaction, such as a fenced one of the leader's", async () => {
    const leadership = await a.elector.campaign();
    let attempts = 0;
    b.records.putIfOpen = async () => {
      attempts += 1;
      const details = { store: "faulty", operation: "put", mayHaveBeenApplied: false };
      throw new StoreError("STORE_CONFLICT", "It met a transaction.", details);
    };
    const leader = { candidateId: "a", term: 1, state: "unknown" };
    await expect(b.elector.tryRun(() => "ran")).resolves.toEqual({ elected: false, leader });
    expect([attempts, sent("b")]).toEqual([1, ["get"]]);
    await leadership.release();
  });

  test("refuses a store whose record was lost, and writes none", async () => {
    await a.elector.tryRun(() => undefined);
    world.service.remove(ELECTION);
    await expect(a.elector.tryRun(() => "ran")).rejects.toMatchObject({ code: "TERM_REGRESSED" });
    expect(world.service.record(ELECTION)).toBeUndefined();
  });

  test("gives back what it wins after it was called off", async () => {
    a.records.latencyMs = 500;
    const calling = new AbortController();
    const attempt = a.elector.tryRun(() => "ran", { signal: calling.signal });
    await world.clock.advance(100);
    calling.abort(new Error("called off"));
    await expect(world.clock.runUntil(attempt)).rejects.toThrow("called off");
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });
});

describe("run", () => {
  test("leads after one request where nobody does", async () => {
    const run = a.run();
    await world.clock.advance(0);
    expect([a.elector.isLeader, sent("a")]).toEqual([true, ["put"]]);
    run.stop();
    await run.settled;
  });

  test("proves by its first look that it may write where another leads, and only reads afterwards", async () => {
    const leadership = await a.elector.campaign();
    const run = b.run();
    await world.clock.advance(10 * LEASE_MS);
    const [first, ...later] = sent("b");
    expect(first).toBe("put");
    expect(new Set(later)).toEqual(new Set(["get"]));
    expect(b.elector.health().state).toBe("standby");
    run.stop();
    await run.settled;
    await leadership.release();
  });

  test("does not take the lease by its first look while it stands back, though it has to prove again that it may write", async () => {
    const run = a.run();
    await world.clock.advance(4_999);
    a.records.failNext("put", { kind: "unavailable" });
    await world.clock.advance(1);
    const resigned = a.elector.resign();
    await world.clock.advance(1_000);
    await resigned;
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    run.stop();
    await run.settled;
  });

  test("where it may not write is told so by its first look", async () => {
    const leadership = await a.elector.campaign();
    b.records.denyWrites(ELECTION);
    const run = b.run();
    await world.clock.advance(2 * LEASE_MS);
    await expect(run.settled).rejects.toMatchObject({ code: "STORE_DENIED" });
    await leadership.release();
  });
});

test("a campaign leads after one request where nobody does, also where it is known that this process may write", async () => {
  const others = [a, world.candidate("other", { beside: a })];
  for (const { elector } of others) {
    const before = sent("a").length;
    const leadership = await elector.campaign();
    expect(sent("a").slice(before)).toEqual(["put"]);
    await leadership.release();
  }
});

test("a first look that may not write any more says so, and ends nothing, where this process could write before", async () => {
  await (await a.elector.campaign()).release();
  const leadership = await b.elector.campaign();
  a.records.denyWrites(ELECTION);
  const other = world.candidate("other", { beside: a });
  const run = other.run();
  await world.clock.advance(3 * LEASE_MS);
  expect(other.events.all("storeFailed")[0]).toMatchObject({ error: { code: "STORE_DENIED" } });
  expect(other.elector.health()).toMatchObject({ state: "standby" });
  run.stop();
  await run.settled;
  await leadership.release();
});

test("a lease that the store's clock does not tell the age of is renewed after a second", async () => {
  const putIfOpen = a.records.putIfOpen!.bind(a.records);
  a.records.putIfOpen = async (...request) => {
    const outcome = await putIfOpen(...request);
    return outcome.stored ? { ...outcome, undated: true } : outcome;
  };
  const leadership = await a.elector.campaign();
  await world.clock.advance(999);
  expect(sent("a")).toEqual(["put"]);
  await world.clock.advance(1);
  expect(sent("a")).toEqual(["put", "put"]);
  // And then on its grid.
  await world.clock.advance(3_999);
  expect(sent("a")).toEqual(["put", "put"]);
  await world.clock.advance(1);
  expect(sent("a")).toEqual(["put", "put", "put"]);
  await leadership.release();
  await expect(a.store.read(ELECTION, LIMITS)).resolves.toMatchObject({ state: "vacant" });
});
