import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RETRY_PERIOD_MS, type Candidate } from "./election-world.ts";
import { Lines } from "./lines.ts";

const REASON = "restoring the backup";

let world: ElectionWorld;
let a: Candidate;
let b: Candidate;
let admin: Candidate;
let lines: Lines;

beforeEach(() => {
  world = new ElectionWorld();
  lines = new Lines();
  [a, b, admin] = [world.candidate("a"), world.candidate("b", { logger: lines }), world.candidate("admin")];
});

describe("an election that is paused", () => {
  test("keeps its leader, and gets no new one before it is resumed", async () => {
    const runA = a.run();
    await world.clock.advance(1_000);
    const runB = b.run();
    await admin.store.pause(ELECTION, { reason: REASON });
    await world.clock.advance(5 * LEASE_MS);
    expect(a.elector.isLeader).toBe(true);

    runA.stop();
    await runA.settled;
    await world.clock.advance(5 * LEASE_MS);
    expect(b.elector.isLeader).toBe(false);

    await admin.store.resume(ELECTION);
    await world.clock.advance(2 * RETRY_PERIOD_MS);
    expect(b.elector.isLeader).toBe(true);
    runB.stop();
    await runB.settled;
  });

  test("makes each standby warn once for each pause, with the reason and the time", async () => {
    const run = b.run();
    await admin.store.pause(ELECTION, { reason: REASON });
    const since = new Date(world.clock.wallMs()).toISOString();
    await world.clock.advance(1_000);
    await admin.store.break(ELECTION, { reason: "now", immediate: true });
    await world.clock.advance(5 * LEASE_MS);
    const message = `'${ELECTION}' is paused since ${since}: ${REASON}. No candidate may acquire it until it is resumed.`;
    expect(lines.warnings.filter((line) => line.includes("paused"))).toEqual([message]);

    await admin.store.resume(ELECTION);
    await world.clock.advance(LEASE_MS);
    await admin.store.pause(ELECTION, { reason: "again" });
    await admin.store.break(ELECTION, { reason: "now", immediate: true });
    await world.clock.advance(5 * LEASE_MS);
    expect(lines.warnings.filter((line) => line.includes("paused"))).toHaveLength(2);
    run.stop();
    await run.settled;
  });

  test("makes tryRun return held-back", async () => {
    await admin.store.pause(ELECTION, { reason: REASON });
    await expect(a.elector.tryRun(() => "ran")).resolves.toEqual({ elected: false, reason: "held-back" });
  });
});
