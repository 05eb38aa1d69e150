/** Tests random orders to a quorum whose members fail and forget, for cases that no unit test covers; see random-quorum.ts. */
import { expect, test } from "vitest";
import { playQuorum } from "./random-quorum.ts";

const SEEDS = 90;

test("terms rise, leases do not overlap, acknowledged writes stay, broken terms end, and a candidate leads in the end", async () => {
  const total: Record<string, number> = {};
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { violation, counts } = await playQuorum(seed);
    expect(violation, `seed ${seed}`).toBeUndefined();
    for (const [what, times] of Object.entries(counts)) total[what] = (total[what] ?? 0) + times;
  }
  for (const [what, times] of Object.entries(total)) expect(times, what).toBeGreaterThan(SEEDS / 10);
});

test("a quorum goes on if all members answer, although one has forgotten its first roster and one has promised a lost round", async () => {
  const { violation } = await playQuorum(8_400_034);

  expect(violation).toBeUndefined();
});

test("a run that loses messages does not lose those of an election's first write, which needs all five emptied members", async () => {
  const { violation } = await playQuorum(2_307);

  expect(violation).toBeUndefined();
});
