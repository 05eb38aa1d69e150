import { expect, test } from "vitest";
import { explore } from "./world/explore.ts";

const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);

test.for(SEEDS)("no shard has two valid holders under the faults of seed %i, and all is held in the calm", async (seed) => {
  const { problem, log } = await explore(seed);
  expect(problem, log.join("\n")).toBeUndefined();
});
