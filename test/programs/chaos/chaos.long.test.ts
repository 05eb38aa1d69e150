/**
 * A few rounds of `npm run chaos` on every store. The seed is new each time. The message of a failure has the seed and the file
 * with the history.
 */
import { describe, expect, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { STORE_NAMES, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { figuresOf, judge, problemsOf } from "./check.ts";
import { CREW_SIZE } from "./processes.ts";
import { playEpisode } from "./episode.ts";
import { keepHistory } from "./keep-history.ts";

/**
 * The lanes run side by side, because they wait nearly all the time. A round on Azure takes seven times as long as on other
 * stores.
 */
const LANES: ReadonlyArray<{ readonly stores: readonly StoreName[]; readonly rounds: number }> = [
  { stores: ["azure"], rounds: 1 },
  { stores: ["quorum", "sqlite"], rounds: 2 },
  { stores: ["dynamodb", "voting", "mysql"], rounds: 2 },
  {
    stores: STORE_NAMES.filter((name) => !["azure", "quorum", "sqlite", "dynamodb", "voting", "mysql"].includes(name)),
    rounds: 2,
  },
];
/** Ten times the longest duration. */
const TIMEOUT_MS = 900_000;

for (const { stores, rounds } of LANES) {
  describe.concurrent(`five workers, through ${rounds} ${rounds === 1 ? "round" : "rounds"} of trouble`, async () => {
    for (const name of stores) {
      const { missing, start } = await testStore(name);
      test.skipIf(await isMissing(missing()))(`on ${name}`, { timeout: TIMEOUT_MS, concurrent: false }, async () => {
        await using service = await start(CREW_SIZE);
        const seed = Math.floor(Math.random() * 2 ** 32);
        const log = await playEpisode({ store: name, seed, rounds, service });
        const problems = problemsOf(judge(log));
        if (problems.length > 0) expect.fail(`Seed ${seed}:\n${problems.join("\n")}\nIts history: ${await keepHistory(log)}`);
        expect(figuresOf(log).rounds).toBe(rounds);
      });
    }
  });
}
