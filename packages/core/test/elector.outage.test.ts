import { ConfigurationError, Elector, UnsupportedError } from "@leasehold/core";
import { ForeignRecordError } from "@leasehold/core/provider";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RENEW_DEADLINE_MS, RETRY_PERIOD_MS, type Candidate } from "./election-world.ts";
import type { Fault } from "./faulty-record-store.ts";

let world: ElectionWorld;
beforeEach(() => {
  world = new ElectionWorld();
});

function leaders(...candidates: readonly Candidate[]): Elector[] {
  return candidates.map(({ elector }) => elector).filter(({ isLeader }) => isLeader);
}

describe("an outage is not the end", () => {
  test.each<Fault["kind"]>(["unavailable", "lost", "unanswered"])(
    "ten minutes of a store whose requests are %s: nobody leads, nobody gives up, and afterwards exactly one leads",
    async (kind) => {
      const candidates = ["a", "b", "c"].map((name) => world.candidate(name, { latencyMs: 20 }));
      const runs = candidates.map((candidate) => candidate.run());
      await world.clock.advance(60_000);
      expect(leaders(...candidates)).toHaveLength(1);

      for (const { records } of candidates) records.failAll({ kind } as Fault);
      await world.clock.advance(RENEW_DEADLINE_MS + RENEW_INTERVAL_MS);
      for (let minutes = 0; minutes < 10; minutes += 1) {
        expect(leaders(...candidates)).toEqual([]);
        await world.clock.advance(60_000);
      }

      for (const { records } of candidates) records.heal();
      await world.clock.advance(2 * LEASE_MS);
      for (let seconds = 0; seconds < 60; seconds += 1) {
        expect(leaders(...candidates)).toHaveLength(1);
        await world.clock.advance(1_000);
      }
      for (const run of runs) run.stop();
      await world.clock.runUntil(Promise.all(runs.map(({ settled }) => settled)));
      expect(world.clock.pendingTimers).toBe(0);
    },
  );

  test("each failed poll is reported, and the next poll follows after half to one retry period", async () => {
    const a = world.candidate("a");
    a.records.failAll({ kind: "unavailable" });
    const run = a.run();

    await world.clock.advance(600_000);

    expect(a.events.names("storeFailed")).toHaveLength(world.service.count("a"));
    const sentMs = world.service.log.map((sent) => sent.sentMs);
    const waitsMs = sentMs.slice(1).map((ms, at) => ms - sentMs[at]!);
    expect(Math.min(...waitsMs)).toBeCloseTo(RETRY_PERIOD_MS / 2, -2);
    expect(Math.max(...waitsMs)).toBeCloseTo(RETRY_PERIOD_MS, -2);
    run.stop();
    await run.settled;
  });

  test("an error that no provider mapped does not end the campaign either", async () => {
    const a = world.candidate("a");
    const get = a.records.get.bind(a.records);
    let broken = true;
    a.records.get = (election) => (broken ? Promise.reject(new TypeError("undefined is not a function")) : get(election));
    const run = a.run();
    await world.clock.advance(60_000);
    expect(a.events.all("storeFailed")[0]).toMatchObject({ error: new TypeError("undefined is not a function") });

    broken = false;
    await world.clock.advance(4_000);

    expect(a.elector.isLeader).toBe(true);
    run.stop();
    await run.settled;
  });

  test.each([new ConfigurationError("no place for it"), new UnsupportedError("not here")])(
    "but %o is none: run, campaign and observe reject with it",
    async (misuse) => {
      const { elector, records } = world.candidate("a");
      records.get = () => Promise.reject(misuse);

      await expect(world.clock.runUntil(elector.run(() => expect.fail("It must not lead.")))).rejects.toBe(misuse);
      await expect(world.clock.runUntil(elector.campaign())).rejects.toBe(misuse);
      await expect(world.clock.runUntil(elector.observe().next())).rejects.toBe(misuse);
      expect(world.clock.pendingTimers).toBe(0);
    },
  );

  test("a standby waits as long as the service asks, though never longer than a lease", async () => {
    const a = world.candidate("a");
    a.records.failNext("get", { kind: "throttled", retryAfterMs: 9_000 }, { kind: "throttled", retryAfterMs: 3_600_000 });
    const run = a.run();
    const startMs = world.clock.monotonicMs();

    await world.clock.advance(9_000 + LEASE_MS);

    expect(world.service.log.slice(0, 3).map(({ sentMs }) => sentMs - startMs)).toEqual([0, 9_000, 9_000 + LEASE_MS]);
    run.stop();
    await run.settled;
  });
});

describe("the abort of a call", () => {
  const CALLS: Readonly<Record<string, (elector: Elector, signal: AbortSignal) => Promise<unknown>>> = {
    run: (elector, signal) => elector.run(undefined, { signal }),
    campaign: (elector, signal) => elector.campaign({ signal }),
    tryRun: (elector, signal) => elector.tryRun(() => undefined, { signal }),
    tryCampaign: (elector, signal) => elector.tryCampaign({ signal }),
  };

  test.each(Object.keys(CALLS))("during a poll is no failure of the store: %s", async (call) => {
    const a = world.candidate("a");
    a.records.failNext("get", { kind: "lost" });
    const stopping = new AbortController();
    const settled = Promise.allSettled([CALLS[call]!(a.elector, stopping.signal)]);
    await world.clock.settle();

    stopping.abort(new Error("enough"));

    await settled;
    expect(a.events.names("storeFailed")).toEqual([]);
    expect(a.elector.health().lastError).toBeUndefined();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test.each(Object.keys(CALLS))("during a poll that is answered all the same sends no attempt: %s", async (call) => {
    const a = world.candidate("a");
    const stopping = new AbortController();
    a.store.read = async () => {
      stopping.abort(new Error("enough"));
      return await Promise.resolve(undefined);
    };

    await Promise.allSettled([CALLS[call]!(a.elector, stopping.signal)]);
    expect(world.service.log).toEqual([]);
  });

  test.each(["tryRun", "tryCampaign"])("during the attempt makes %s reject with its reason, after the release", async (call) => {
    const a = world.candidate("a");
    a.records.failNext("put", { kind: "slow", latencyMs: 100 });
    const stopping = new AbortController();
    const trying = CALLS[call]!(a.elector, stopping.signal);
    await world.clock.settle();

    stopping.abort("enough");

    await expect(world.clock.runUntil(trying)).rejects.toBe("enough");
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });
});

test.each([
  ["a record that is no lease", new ForeignRecordError(ELECTION, "the record", "it has no term"), undefined],
  ["an error that no provider mapped", new TypeError("undefined is not a function"), "TypeError"],
])("health shows the failures of the store only: %s", async (_, error, code) => {
  const a = world.candidate("a");
  a.records.get = () => Promise.reject(error);

  await expect(a.elector.tryRun(() => undefined)).rejects.toBe(error);
  expect(a.elector.health().lastError?.code).toBe(code);
});

describe("fail closed", () => {
  test("a leader whose record disappears loses the lease, and nobody leads a new record with an old term", async () => {
    const a = world.candidate("a");
    const run = a.run();
    await world.clock.advance(1_000);

    world.service.remove(ELECTION);
    await world.clock.advance(RENEW_INTERVAL_MS);
    expect(a.events.all("ending")).toMatchObject([{ reason: { code: "LEASE_LOST", reason: "missing" } }]);

    await world.clock.advance(600_000);
    expect(world.service.record(ELECTION)).toBeUndefined();
    expect(a.events.all("storeFailed").at(-1)).toMatchObject({
      error: { code: "TERM_REGRESSED", foundTerm: 0, highestTermSeen: 1 },
    });
    run.stop();
    await run.settled;
  });

  test("a standby that has observed a term leads no new record below it while that term's leader is valid", async () => {
    const a = world.candidate("a");
    const b = world.candidate("b");
    const runs = [a.run(), b.run()];
    await world.clock.advance(4 * RENEW_INTERVAL_MS + 100);
    const [leader, standby] = a.elector.isLeader ? [a, b] : [b, a];

    world.service.remove(ELECTION);
    for (let looks = 0; looks < 200; looks += 1) {
      await world.clock.advance(100);
      expect(leader.elector.isLeader && standby.elector.isLeader).toBe(false);
      expect(world.service.record(ELECTION)).toBeUndefined();
    }

    expect(standby.events.names("startedLeading")).toEqual([]);
    expect(standby.events.all("storeFailed").at(-1)).toMatchObject({ error: { code: "TERM_REGRESSED", highestTermSeen: 1 } });
    for (const run of runs) run.stop();
    await Promise.all(runs.map(({ settled }) => settled));
  });

  test("a record restored from a backup blocks every candidate that has observed the later term", async () => {
    const a = world.candidate("a");
    for (let terms = 0; terms < 5; terms += 1) await a.elector.tryRun(() => undefined);
    world.service.overwrite(ELECTION, { ...world.service.record(ELECTION), term: 2 });

    await expect(a.elector.tryRun(() => "ran")).rejects.toMatchObject({
      code: "TERM_REGRESSED",
      foundTerm: 2,
      highestTermSeen: 5,
    });
    const run = a.run();
    await world.clock.advance(600_000);
    expect(a.elector.isLeader).toBe(false);
    run.stop();
    await run.settled;
  });

  test("minTerm allows to lead again if it is above every observed term", async () => {
    const a = world.candidate("a");
    await a.elector.tryRun(() => undefined);
    await a.elector.tryRun(() => undefined);
    world.service.remove(ELECTION);

    const withMinTerm = (minTerm: number): Elector =>
      new Elector({ store: a.store, election: ELECTION, clock: world.clock, minTerm });
    for (const minTerm of [1, 2]) {
      await expect(withMinTerm(minTerm).tryRun(() => undefined)).rejects.toMatchObject({ code: "TERM_REGRESSED" });
    }
    expect(await withMinTerm(3).tryRun(() => "ran")).toEqual({ elected: true, term: 3, result: "ran" });
    // A candidate without `minTerm` can lead again from here on.
    expect(await a.elector.tryRun(() => "ran")).toEqual({ elected: true, term: 4, result: "ran" });
  });

  test("a read that was overtaken on its way does not count as a record that went back", async () => {
    const a = world.candidate("a");
    const beside = new Elector({ store: a.store, election: ELECTION, candidateId: "beside", clock: world.clock });
    await a.elector.tryRun(() => undefined);
    // The service replies with term 1. Before the reply arrives, the other elector of this process has led term 2.
    a.records.failNext("get", { kind: "slow", latencyMs: 1_000 });
    const trying = beside.tryRun(() => "ran").catch((error: unknown) => error);
    await world.clock.advance(600);
    await a.elector.tryRun(() => undefined);

    const outcome = await world.clock.runUntil(trying);

    expect(outcome).not.toBeInstanceOf(Error);
    expect(outcome).toHaveProperty("elected");
  });
});
