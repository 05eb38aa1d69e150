import { expect, test } from "vitest";
import { explore } from "./world/explore.ts";

/** The starts of shards to play. `LEASEHOLD_FLEET_STARTS=1000000` plays a million. */
const STARTS = Number(process.env["LEASEHOLD_FLEET_STARTS"] ?? 5_000);
const FIRST = Number(process.env["LEASEHOLD_FLEET_SEED"] ?? 1_000);

test(`no shard has two valid holders in ${STARTS} starts under random faults`, { timeout: 36_000_000 }, async () => {
  let starts = 0;
  for (let seed = FIRST; starts < STARTS; seed += 1) {
    const outcome = await explore(seed);
    starts += outcome.starts;
    expect(outcome.problem, `seed ${seed}\n${outcome.log.join("\n")}`).toBeUndefined();
  }
});
