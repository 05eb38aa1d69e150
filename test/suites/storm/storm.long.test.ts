/**
 * Duplicate deliveries to workers in processes of their own, many of which are killed, through every gate of
 * `@leasehold/functions` on real stores. The seed is another one each time: it is in the message of a failure, and
 * LEASEHOLD_STORM_SEED plays its plan again. A storm takes from half a minute to two.
 */
import { describe, expect, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { stormExclusive } from "./exclusive.ts";
import { stormOncePerTick } from "./once-per-tick.ts";
import { stormSticky } from "./sticky.ts";
import type { StormOptions, Verdict } from "./storm.ts";

const STORMS: Readonly<Record<string, (options: StormOptions) => Promise<Verdict>>> = {
  oncePerTick: stormOncePerTick,
  exclusive: stormExclusive,
  sticky: stormSticky,
};
/**
 * Each gate on a store whose clock is exact and on one whose clock is coarse, and each store under some. What is busy goes one after
 * another; and beside it what is mostly waiting, for leases of Azure.
 */
const LANES: ReadonlyArray<ReadonlyArray<readonly [gate: keyof typeof STORMS, store: StoreName]>> = [
  [
    ["oncePerTick", "sqlite"],
    ["oncePerTick", "dynamodb"],
    ["exclusive", "firestore"],
    ["sticky", "sqlite"],
  ],
  [["sticky", "azure"]],
  [["exclusive", "azure"]],
];
const TIMEOUT_MS = 300_000;

for (const [at, storms] of LANES.entries()) {
  describe.concurrent(`lane ${at + 1}`, async () => {
    for (const [gate, store] of storms) {
      const { missing, start } = await testStore(store);
      test.skipIf(await isMissing(missing()))(`${gate} on ${store}`, { timeout: TIMEOUT_MS, concurrent: false }, async () => {
        await using service = await start();
        const seed = Number(process.env["LEASEHOLD_STORM_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
        const { problems, figures, history } = await STORMS[gate]!({ store, service: service.settings, seed });
        if (problems.length > 0) expect.fail(`Seed ${seed}:\n${problems.join("\n")}\n\n${history}`);
        expect(figures.killed).toBeGreaterThan(0);
        expect(figures.ran).toBeGreaterThan(0);
      });
    }
  });
}
