import { Elector } from "@leasehold/core";
import { ProcessClock, promptNetwork, VirtualClock } from "@leasehold/core/testing";
import { beforeAll, expect, test } from "vitest";
import { SimulatedService, warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { ELECTION } from "@leasehold/test-kit/acquisitions";

beforeAll(warmUp);

test("half an hour at the defaults costs 360 writes of the leader, and 1,150 eventually consistent reads of a standby", async () => {
  const world = new VirtualClock();
  const service = new SimulatedService(world);
  const [leader, standby] = ["leader", "standby"].map((candidateId) => {
    const clock = new ProcessClock(world);
    const store = service.store(clock, { network: promptNetwork(5), hostOffsetMs: () => 0 });
    return new Elector({ store, election: ELECTION, candidateId, clock });
  });
  const leadership = await world.runUntil(leader!.campaign());
  const stopping = new AbortController();
  const waiting = standby!.campaign({ signal: stopping.signal }).catch(() => undefined);
  await world.advance(60_000);

  const before = { ...service.served };
  await world.advance(1_800_000);
  const served = (kind: keyof typeof before): number => service.served[kind] - before[kind];

  expect(leadership.isValid()).toBe(true);
  expect(served("writes")).toBeGreaterThanOrEqual(355);
  expect(served("writes")).toBeLessThanOrEqual(365);
  expect(served("reads")).toBeLessThanOrEqual(1_200);
  expect(served("consistentReads")).toBe(0);
  stopping.abort();
  await world.runUntil(waiting);
  await world.runUntil(leadership.release());
});
