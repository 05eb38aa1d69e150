import { RecordLeaseStore, type Lease, type LeaseSnapshot } from "@leasehold/core";
import { ProcessClock, promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { LEASE_MS, RENEW_INTERVAL_MS } from "./election-world.ts";

const ELECTION = "nightly-billing";
const LIMITS = { timeoutMs: 5_000 };

/** A holder, and a watcher whose replies, but not what is pushed to it, take as long as the test says. */
async function watched({ latencyMs = 10 } = {}) {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: "every-write", storeClock: { toleranceMs: 0, exact: true } });
  const storeOf = (network: Network): RecordLeaseStore => {
    const clock = new ProcessClock(world);
    return new RecordLeaseStore(service.connect(clock, network), { clock });
  };
  const line = { replyAfterMs: latencyMs };
  const prompt = promptNetwork(10);
  const holder = storeOf(prompt);
  const watcher = storeOf((request) =>
    request.operation === "watch" ? prompt(request) : { arrivals: [{ afterMs: 10, replyAfterMs: line.replyAfterMs }] },
  );
  const asking = { election: ELECTION, candidateId: "a", leaseDurationMs: LEASE_MS, renewIntervalMs: RENEW_INTERVAL_MS };
  const outcome = await world.runUntil(holder.acquire({ ...asking, ...LIMITS }));
  const lease = (outcome as { lease: Lease }).lease;
  const stopping = new AbortController();
  const pushed: Array<LeaseSnapshot | undefined> = [];
  const watch = async (): Promise<void> => {
    for await (const snapshot of watcher.watch!(ELECTION, { signal: stopping.signal })) pushed.push(snapshot);
  };
  return { world, service, holder, watcher, lease, line, pushed, watch };
}

describe("a release that is pushed while a look is under way", () => {
  test("is not undone by the look's reply, which is older", async () => {
    const { world, holder, watcher, lease, line, pushed, watch } = await watched();
    void watch();
    await world.advance(100);
    line.replyAfterMs = 1_000;
    const look = watcher.read(ELECTION, LIMITS);
    await world.advance(50);
    await world.runUntil(holder.release(lease, LIMITS));
    await world.advance(50);
    expect(pushed.at(-1)?.state).toBe("vacant");

    await expect(world.runUntil(look)).resolves.toMatchObject({ state: "vacant" });
    expect(watcher.nextLookMs(ELECTION, 2_000)).toBeLessThanOrEqual(2_000);
  });

  test("is not undone where the first thing of all that was seen is the push", async () => {
    const { world, holder, watcher, lease, line, watch } = await watched();
    line.replyAfterMs = 1_000;
    const look = watcher.read(ELECTION, LIMITS);
    await world.advance(50);
    await world.runUntil(holder.release(lease, LIMITS));
    void watch();
    await world.advance(50);

    await expect(world.runUntil(look)).resolves.toMatchObject({ state: "vacant" });
  });
});

test("a look whose reply is newer than what was pushed meanwhile counts", async () => {
  const { world, holder, watcher, lease, line, watch } = await watched();
  void watch();
  await world.advance(100);
  await world.runUntil(holder.publish(lease, "one", LIMITS));
  // Pushed while the look is on its way, which finds what comes after it.
  line.replyAfterMs = 5;
  const look = watcher.read(ELECTION, LIMITS);
  await world.runUntil(holder.publish(lease, "two", LIMITS));

  await expect(world.runUntil(look)).resolves.toMatchObject({ state: "held" });
  await world.advance(50);
  await expect(world.runUntil(watcher.read(ELECTION, LIMITS))).resolves.toMatchObject({ value: "two" });
});

test("a record that was put back to what it was is seen, however it was pushed before", async () => {
  const { world, service, holder, watcher, lease, watch } = await watched();
  void watch();
  await world.advance(100);
  const before = service.record(ELECTION);
  await world.runUntil(holder.release(lease, LIMITS));
  await world.advance(100);
  service.overwrite(ELECTION, before);

  await expect(world.runUntil(watcher.read(ELECTION, LIMITS))).resolves.toMatchObject({ state: "held", term: lease.term });
});

test("looks settle however often something is pushed", async () => {
  const { world, holder, watcher, lease, line, watch } = await watched();
  void watch();
  await world.advance(100);
  line.replyAfterMs = 300;
  const look = watcher.read(ELECTION, LIMITS);
  let pending = true;
  void look.then(() => (pending = false));
  for (let writes = 0; writes < 60 && pending; writes += 1) await world.runUntil(holder.publish(lease, `${writes}`, LIMITS));

  expect(pending).toBe(false);
});
