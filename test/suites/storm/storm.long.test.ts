/**
 * Duplicate deliveries to workers in processes of their own, many of which are killed, through the gate `oncePerTick` of
 * `@leasehold/functions`. The simulation plays the leases of the other gates under the same faults. Each run has another seed, which
 * also selects the store. A failure prints it, and LEASEHOLD_STORM_SEED repeats its plan. A storm takes from 30 to 90 seconds.
 */
import { expect, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore } from "@leasehold/test-kit/stores/stores";
import { stormOncePerTick } from "./once-per-tick.ts";

/** Ten times the duration of the longest storm on an idle machine. */
const TIMEOUT_MS = 900_000;

const seed = Number(process.env["LEASEHOLD_STORM_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
// One has an exact clock, and one a coarse one.
const store = seed % 2 === 0 ? "sqlite" : "dynamodb";
const { missing, start } = await testStore(store);

test.skipIf(await isMissing(missing()))(`a storm on ${store}`, { timeout: TIMEOUT_MS }, async () => {
  await using service = await start();
  const { problems, figures, history } = await stormOncePerTick(service.settings, seed);
  if (problems.length > 0) expect.fail(`Seed ${seed}:\n${problems.join("\n")}\n\n${history}`);
  expect(figures.killed).toBeGreaterThan(0);
  expect(figures.ran).toBeGreaterThan(0);
});
