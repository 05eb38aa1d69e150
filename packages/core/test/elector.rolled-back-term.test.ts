import type { LeaseRecord } from "@leasehold/core/provider";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RETRY_PERIOD_MS, type Candidate, type Run } from "./election-world.ts";
import { VirtualClock } from "@leasehold/core/testing";
import { RolledBackTerms, SeenTerms } from "../src/election/seen-terms.ts";

const UNDURABLE = { showsUndurable: true };

let world: ElectionWorld;
let first: Candidate;
let standby: Candidate;
let run: Run;

/** Makes another process lead term 1 while a standby waits. Returns the failover, which undoes all later writes. */
async function begin(options: { readonly showsUndurable?: boolean }): Promise<() => void> {
  world = new ElectionWorld();
  first = world.candidate("first", options);
  standby = world.candidate("standby", options);
  const leadership = await world.clock.runUntil(first.elector.campaign());
  run = standby.run();
  await world.clock.advance(RETRY_PERIOD_MS);
  const failover = world.service.backUp(ELECTION);
  // The standby observes a term that is never acknowledged, and that a failover undoes.
  const record = world.service.record(ELECTION) as LeaseRecord;
  await leadership.release();
  world.service.overwrite(ELECTION, { ...record, term: 2, termId: "another", nonce: "another", candidateId: "another" });
  await world.clock.advance(2 * RETRY_PERIOD_MS);
  return failover;
}

describe("a term that a standby has observed and not led", () => {
  let failover: () => void;
  let lostMs: number;

  beforeEach(async () => {
    failover = await begin(UNDURABLE);
    expect(standby.elector.health()).toMatchObject({ leading: false });
    first.records.failAll({ kind: "lost" });
    failover();
    lostMs = world.clock.monotonicMs();
  });

  test("blocks it for one whole lease from the first read of the lower term", async () => {
    await world.clock.advance(LEASE_MS - 1);
    expect(standby.elector.isLeader).toBe(false);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1 });
  });

  test("is followed by a higher term after that, without an administrator", async () => {
    while (!standby.elector.isLeader && world.clock.monotonicMs() < lostMs + 2 * LEASE_MS) await world.clock.advance(100);

    expect(standby.elector.health()).toMatchObject({ leading: true, term: 3 });
    expect(world.service.record(ELECTION)).toMatchObject({ term: 3 });
    run.stop();
    await world.clock.runUntil(run.settled);
  });
});

test("an election that a failover has undone is led above its terms, after one whole lease and without a failure", async () => {
  const failover = await begin(UNDURABLE);
  first.records.failAll({ kind: "lost" });
  failover();
  world.service.remove(ELECTION);
  await world.clock.advance(LEASE_MS - 1);
  expect(standby.elector.isLeader).toBe(false);

  await world.clock.advance(LEASE_MS);

  expect(standby.elector.health()).toMatchObject({ leading: true, term: 3 });
  expect(standby.events.names("storeFailed")).toEqual([]);
  run.stop();
  await world.clock.runUntil(run.settled);
});

test("a lost term that this process has led blocks it for good", async () => {
  world = new ElectionWorld();
  const a = world.candidate("a", UNDURABLE);
  await (await world.clock.runUntil(a.elector.campaign())).release();
  const failover = world.service.backUp(ELECTION);
  await (await world.clock.runUntil(a.elector.campaign())).release();
  failover();

  const campaigning = a.elector.campaign();
  campaigning.catch(() => undefined);
  await world.clock.advance(4 * LEASE_MS);

  expect(a.elector.isLeader).toBe(false);
  expect(a.events.all("storeFailed").at(-1)).toMatchObject({ error: { code: "TERM_REGRESSED", highestTermSeen: 2 } });
});

test("on a store that shows only durable writes, an observed term that is lost blocks every candidate", async () => {
  const failover = await begin({});
  first.records.failAll({ kind: "lost" });
  failover();

  await world.clock.advance(4 * LEASE_MS);

  expect(standby.elector.isLeader).toBe(false);
  expect(standby.events.all("storeFailed").at(-1)).toMatchObject({ error: { code: "TERM_REGRESSED", highestTermSeen: 2 } });
});

test("terms that were seen rise only, and those that were led are kept beside them", () => {
  const terms = new SeenTerms(new VirtualClock());
  const after = (term: number, isLed?: boolean): unknown => {
    terms.note("e", term, isLed);
    return terms.highest("e");
  };
  expect(after(3)).toEqual({ seen: 3, led: 0 });
  expect(after(2)).toEqual({ seen: 3, led: 0 });
  expect(after(2, true)).toEqual({ seen: 3, led: 2 });
  expect(after(1, true)).toEqual({ seen: 3, led: 2 });
  expect(after(5)).toEqual({ seen: 5, led: 2 });
});

test("a term that was undone is waited out for the longest lease that was observed, from the first read", async () => {
  const clock = new VirtualClock();
  const undone = new RolledBackTerms(clock, 1_000);
  expect([undone.isOver, undone.isWaitedOut]).toEqual([true, false]);
  undone.saw({ leaseDurationMs: 4_000 } as never, false);
  undone.saw(undefined, true);
  await clock.advance(3_999);
  undone.saw(undefined, true);
  expect([undone.isOver, undone.isWaitedOut]).toEqual([false, false]);
  await clock.advance(1);
  expect([undone.isOver, undone.isWaitedOut]).toEqual([true, true]);
});
