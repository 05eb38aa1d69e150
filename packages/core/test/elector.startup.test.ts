import { beforeEach, describe, expect, test, vi } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { ElectionWorld, PROOFS, RETRY_PERIOD_MS, type Candidate } from "./election-world.ts";
import { Lines } from "./lines.ts";

let world: ElectionWorld;
let lines: Lines;
let a: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  lines = new Lines();
  a = world.candidate("a", { logger: lines });
});

/** Runs a candidate. Returns its outcome and the instant of that, if it settles within the time. */
async function runFor(candidate: Candidate, forMs: number): Promise<{ outcome?: unknown; afterMs?: number }> {
  const settled: { outcome?: unknown; afterMs?: number } = {};
  const note = (outcome: unknown): void => void Object.assign(settled, { outcome, afterMs: world.clock.monotonicMs() });
  candidate.elector.run(untilAborted).then(() => note("resolved"), note);
  await world.clock.advance(forMs);
  return settled;
}

describe("before the first contact", () => {
  test("run on a store that only refuses warns at once, and rejects after a lease", async () => {
    a.records.failAll({ kind: "denied" });

    const { outcome, afterMs } = await runFor(a, LEASE_MS / 2);
    expect([outcome, afterMs]).toEqual([undefined, undefined]);
    expect(lines.warnings).toEqual(["get failed: STORE_DENIED. If the store keeps refusing, this campaign ends in 15 s."]);

    const running = a.elector.stop();
    await world.clock.advance(1_000);
    await running;
    const again = await runFor(a, 2 * LEASE_MS);
    expect(again.outcome).toMatchObject({ code: "STORE_DENIED" });
  });

  test.each(["run", "campaign"] as const)("%s rejects not before a lease, and no later than two polls after it", async (call) => {
    a.records.failAll({ kind: "denied" });
    let afterMs = 0;
    const calling = call === "run" ? a.elector.run(untilAborted) : a.elector.campaign();
    const failure = calling.catch((error: unknown) => {
      afterMs = world.clock.monotonicMs();
      return error;
    });
    await world.clock.advance(2 * LEASE_MS);

    expect(await failure).toMatchObject({ code: "STORE_DENIED" });
    expect(afterMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(afterMs).toBeLessThanOrEqual(LEASE_MS + 2 * RETRY_PERIOD_MS);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("run says in how many seconds it rejects, rounded up, and does so as soon as the refusals have lasted for a lease", async () => {
    const retryPeriodMs = 1_700;
    const leaseDurationMs = 8 * retryPeriodMs;
    vi.spyOn(world.clock, "random").mockReturnValue(1);
    const b = world.candidate("b", { leaseDurationMs, retryPeriodMs, logger: lines });
    b.records.failAll({ kind: "denied" });
    const sinceMs = world.clock.monotonicMs();

    const { afterMs } = await runFor(b, 2 * leaseDurationMs);
    expect((afterMs ?? 0) - sinceMs).toBe(leaseDurationMs);
    expect(lines.warnings[0]).toMatch(/ends in 14 s/);
  });

  test("a refusal of an earlier campaign does not count: each campaign has its own lease", async () => {
    a.records.failNext("get", { kind: "denied" });
    await a.elector.tryRun(untilAborted).catch(() => undefined);
    await world.clock.advance(10 * LEASE_MS);
    a.records.failAll({ kind: "denied" });

    expect(await runFor(a, LEASE_MS / 2)).toEqual({});

    a.records.heal();
    await world.clock.advance(RETRY_PERIOD_MS);
    expect(a.elector.isLeader).toBe(true);
    await a.elector.stop();
  });

  test("a failure other than a refusal restarts the lease after which run rejects", async () => {
    a.records.failAll({ kind: "denied" });
    const settled = await runFor(a, LEASE_MS - 3_000);
    a.records.failNext("get", { kind: "unavailable" });
    await world.clock.advance(LEASE_MS - 3_000);
    expect(settled).toEqual({});

    await world.clock.advance(LEASE_MS);

    expect(settled).toMatchObject({ outcome: { code: "STORE_DENIED" } });
  });

  test("startup: 'patient' keeps trying, and warns all the same", async () => {
    const patient = world.candidate("b", { logger: lines, startup: "patient" });
    patient.records.failAll({ kind: "denied" });

    expect(await runFor(patient, 10 * LEASE_MS)).toEqual({});

    expect(lines.warnings).toEqual([
      "get failed: STORE_DENIED. Requests are repeated until the store answers; a leader that cannot renew steps down in time.",
      expect.stringMatching(/^The store still fails, for 1[56]\.\d s now\. get failed: STORE_DENIED$/),
    ]);
    patient.records.heal();
    await world.clock.advance(RETRY_PERIOD_MS);
    expect(patient.elector.isLeader).toBe(true);
    await patient.elector.stop();
  });

  test("a standby that may read and not write is refused before a takeover", async () => {
    const leader = world.candidate("leader");
    const leading = leader.run();
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "denied" }, "put");

    const { outcome } = await runFor(a, LEASE_MS + 2 * RETRY_PERIOD_MS);

    expect(outcome).toMatchObject({ code: "STORE_DENIED" });
    expect(lines.warnings).toHaveLength(1);
    leading.stop();
    await leading.settled;
  });

  test("a standby stops at once while its proof is not answered", async () => {
    const leader = world.candidate("leader");
    const leading = leader.run();
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "lost" }, "put");
    const settled = await runFor(a, 500);
    expect(world.service.count("a", "put")).toBe(1);

    void a.elector.stop();
    await world.clock.advance(1);

    expect(settled).toMatchObject({ outcome: "resolved" });
    leading.stop();
    await leading.settled;
  });

  test("all electors on one store prove only once that they may write", async () => {
    const leader = world.candidate("leader");
    const leading = leader.run();
    await world.clock.advance(1_000);
    const before = world.service.record(ELECTION);
    const beside = [1, 2, 3].map((number) => world.candidate(`a${number}`, { beside: a, election: ELECTION }));

    const runs = [a, ...beside].map((candidate) => candidate.run());
    await world.clock.advance(3_000);

    expect(world.service.count("a", "put")).toBe(PROOFS);
    expect(world.service.record(ELECTION)).toEqual(before);
    for (const run of [...runs, leading]) run.stop();
    await Promise.all([...runs, leading].map(({ settled }) => settled));
  });
});

describe("an election to which this process may not write", () => {
  beforeEach(async () => {
    a.run();
    await world.clock.advance(1_000);
    a.records.denyWrites("barred");
  });

  test("rejects after a lease, even if the store accepts the writes of another election", async () => {
    const b = world.candidate("b", { beside: a, election: "barred" });

    const { outcome, afterMs } = await runFor(b, LEASE_MS + 3 * RETRY_PERIOD_MS);

    expect(outcome).toMatchObject({ code: "STORE_DENIED" });
    expect(afterMs).toBeGreaterThanOrEqual(1_000 + LEASE_MS);
    expect(a.elector.isLeader).toBe(true);
    expect(a.elector.health().lastError).toBeUndefined();
    expect(b.elector.health()).toMatchObject({ state: "stopped", lastError: { code: "STORE_DENIED" } });
    await a.elector.stop();
  });

  test("causes two warnings, however long it lasts", async () => {
    const b = world.candidate("b", { beside: a, election: "barred", startup: "patient", logger: lines });
    lines.all.length = 0;

    await runFor(b, 600_000);

    expect(lines.of("warn", "error", "info").filter((line) => /STORE_DENIED|answers again/.test(line))).toEqual([
      "put failed: STORE_DENIED. Requests are repeated until the store answers; a leader that cannot renew steps down in time.",
      expect.stringMatching(/^The store still fails, for 1[56]\.\d s now\. put failed: STORE_DENIED$/),
    ]);
    await a.elector.stop();
    await b.elector.stop();
  });

  test("does not hide an outage of the store", async () => {
    const b = world.candidate("b", { beside: a, election: "barred", startup: "patient", logger: lines });
    await runFor(b, 60_000);
    lines.all.length = 0;

    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(2 * LEASE_MS);
    a.records.heal();
    a.records.denyWrites("barred");
    await world.clock.advance(120_000);

    expect(lines.all.filter(({ attributes }) => "store" in attributes).map(({ level, message }) => [level, message])).toEqual([
      ["warn", expect.stringContaining("failed: STORE_UNAVAILABLE. Requests are repeated")],
      ["error", expect.stringContaining("failed: STORE_UNAVAILABLE")],
      ["info", expect.stringContaining("answers again")],
    ]);
    await a.elector.stop();
    await b.elector.stop();
  });
});

describe("after the first contact", () => {
  test("no refusal makes a later elector of the same election reject", async () => {
    await a.elector.tryRun(() => "led");
    const later = world.candidate("later", { beside: a });
    a.records.failAll({ kind: "denied" });

    expect(await runFor(later, 20 * LEASE_MS)).toEqual({});

    await later.elector.stop();
  });

  test("no refusal makes a run reject", async () => {
    const settled = await runFor(a, 1_000);
    a.records.failAll({ kind: "denied" });
    await world.clock.advance(20 * LEASE_MS);
    expect(settled).toEqual({});

    a.records.heal();
    await world.clock.advance(LEASE_MS);

    expect(a.elector.isLeader).toBe(true);
    await a.elector.stop();
  });
});
