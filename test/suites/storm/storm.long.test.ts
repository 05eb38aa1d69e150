/**
 * Duplicate deliveries to workers in processes of their own, many of which are killed, through every gate of
 * `@leasehold/functions` on real stores. Each run has another seed, which also selects the store of each gate. A failure prints
 * it, and LEASEHOLD_STORM_SEED repeats its plan. A storm takes from 30 to 90 seconds.
 */
import { describe, expect, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { stormExclusive } from "./exclusive.ts";
import { stormOncePerTick } from "./once-per-tick.ts";
import { stormSticky } from "./sticky.ts";
import type { StormOptions, Verdict } from "./storm.ts";

interface Storm {
  readonly play: (options: StormOptions) => Promise<Verdict>;
  /** Some have an exact clock, and some a coarse one. */
  readonly stores: readonly StoreName[];
}

const STORMS: Readonly<Record<string, Storm>> = {
  oncePerTick: { play: stormOncePerTick, stores: ["sqlite", "dynamodb"] },
  exclusive: { play: stormExclusive, stores: ["firestore", "azure"] },
  sticky: { play: stormSticky, stores: ["sqlite", "azure"] },
};
/** Ten times the duration of the longest storm on an idle machine. */
const TIMEOUT_MS = 900_000;

const seed = Number(process.env["LEASEHOLD_STORM_SEED"] ?? Math.floor(Math.random() * 2 ** 32));

describe.concurrent("a storm", async () => {
  for (const [at, [gate, { play, stores }]] of Object.entries(STORMS).entries()) {
    const store = stores[Math.floor(seed / stores.length ** at) % stores.length]!;
    const { missing, start } = await testStore(store);
    test.skipIf(await isMissing(missing()))(`of ${gate} on ${store}`, { timeout: TIMEOUT_MS }, async () => {
      await using service = await start();
      const { problems, figures, history } = await play({ store, service: service.settings, seed });
      if (problems.length > 0) expect.fail(`Seed ${seed}:\n${problems.join("\n")}\n\n${history}`);
      expect(figures.killed).toBeGreaterThan(0);
      expect(figures.ran).toBeGreaterThan(0);
    });
  }
});
