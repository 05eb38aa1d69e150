/** Tests the time until which the simulated records block others. The referee compares candidates with this time. */
import { ProcessClock, SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { SimulatedRecords } from "./record-store.ts";
import { ELECTION, FASTEST_RATE, type Grant } from "./simulated-store.ts";

const LEASE_MS = 15_000;
const LATE_MS = 6_000;
const HOUR_MS = 3_600_000;

/** A service with a clock that may step, and a lease on it. The write that acquired it took `LATE_MS`. */
async function held() {
  const world = new VirtualClock();
  const options = { storeClock: { toleranceMs: 100, exact: false, mayStep: true } };
  const records = new SimulatedRecords(world, new SimulatedRecordService(world, options), options);
  const grants: Grant[] = [];
  records.view.granted = (grant) => grants.push(grant);
  const { store } = records.connect(new ProcessClock(world), ({ operation }) => ({
    arrivals: [{ afterMs: operation === "put" ? LATE_MS : 0, replyAfterMs: 0 }],
  }));
  const acquire = async (candidateId: string): Promise<void> => {
    const times = { leaseDurationMs: LEASE_MS, renewIntervalMs: 5_000, timeoutMs: 2 * LATE_MS };
    await world.runUntil(store.acquire({ election: ELECTION, candidateId, ...times }));
  };
  await acquire("a");
  const barsForMs = (): number => records.barredUntilMs(grants[0]!.termId) - world.monotonicMs();
  return { world, records, grants, acquire, barsForMs };
}

test("a lease bars others from when the service has it", async () => {
  const { barsForMs } = await held();

  expect(barsForMs()).toBeCloseTo(LEASE_MS / FASTEST_RATE);
});

test.each([100, HOUR_MS, -HOUR_MS])("it bars them from when it was sent once the service's clock is %d ms off", async (ms) => {
  const { records, barsForMs } = await held();
  records.stepClock(ms);

  // Only the wall clocks tell its age, and the writer's clock tells when it was sent.
  expect(barsForMs()).toBeCloseTo(LEASE_MS / FASTEST_RATE - LATE_MS);
});

test("after a failover nothing tells how old it is, and it bars them from when the service has it", async () => {
  const { records, barsForMs } = await held();
  records.failOver(HOUR_MS);

  expect(barsForMs()).toBeCloseTo(LEASE_MS / FASTEST_RATE);
});

test("a term that is given out after such a step is said to have been barred until then", async () => {
  const { world, records, grants, acquire } = await held();
  const heldMs = world.monotonicMs();
  records.stepClock(HOUR_MS);
  await world.advance(LEASE_MS);
  await acquire("b");

  expect(grants[1]?.barredUntilMs).toBeCloseTo(heldMs + LEASE_MS / FASTEST_RATE - LATE_MS);
});
