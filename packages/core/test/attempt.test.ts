import { attempt } from "@leasehold/core/occurrences";
import { expect, test } from "vitest";
import { ElectionWorld } from "./election-world.ts";

test.each([
  [0, 100],
  [40, 100],
  [700, 700],
  [60_000, 1_000],
])("a store that throttles and asks for a wait of %s ms is asked again after %i ms", async (retryAfterMs, waitMs) => {
  const world = new ElectionWorld();
  const a = world.candidate("a");
  a.records.latencyMs = 0;
  a.records.failNext("get", { kind: "throttled", retryAfterMs });
  const beganMs = world.clock.monotonicMs();

  const outcome = await world.clock.runUntil(attempt(a.elector, () => "ran", { clock: world.clock }));

  expect(outcome).toMatchObject({ elected: true, result: "ran" });
  expect(world.service.log.map(({ sentMs }) => sentMs - beganMs).slice(0, 2)).toEqual([0, waitMs]);
});
