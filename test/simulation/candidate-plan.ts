import type { SeededRandom } from "@leasehold/core/testing";
import { HOUR_MS } from "./mishaps/mishap.ts";
import { FASTEST_RATE, SLOWEST_RATE } from "./stores/simulated-store.ts";
import type { StoreKind } from "./stores/stores.ts";

/** How far the wall clocks of hosts are from the true time that are synchronized. */
const SYNCHRONIZED_MS = 20;

export interface CandidatePlan {
  /** Its own lease: a rolling deploy may change it, and then each waits for what the record says. */
  readonly leaseDurationMs: number;
  /** How it leads: by `run`, or by `campaign`, holding its leadership by hand. */
  readonly way: "run" | "campaign";
  readonly rate: number;
  readonly wallRate: number;
  readonly wallOffsetMs: number;
  /** Whether it is a machine that can be suspended. One that can is never set back in time: it could not tell how long it slept. */
  readonly sleeps: boolean;
  /** Whether it may use the store's own clock to tell that a lease has expired. */
  readonly expiry: "store-clock" | "observed" | undefined;
  readonly releaseOnStop: boolean;
}

export function drawCandidate(random: SeededRandom, store: StoreKind, leaseMs: number): CandidatePlan {
  const sleeps = random.chance(0.5);
  const hasClock = store === "records with a clock" || store === "dynamodb";
  // A store's clock that may step is believed only among hosts whose wall clocks agree.
  const isSynchronized = store === "records with a clock" && random.chance(0.8);
  return {
    leaseDurationMs: leaseMs * (random.chance(0.8) ? 1 : store === "blob" ? 2 : random.pick([0.5, 2])),
    way: random.chance(0.8) ? "run" : "campaign",
    rate: drawRate(random),
    ...(isSynchronized
      ? { wallRate: 1, wallOffsetMs: random.between(-SYNCHRONIZED_MS, SYNCHRONIZED_MS) }
      : { wallRate: drawRate(random), wallOffsetMs: random.between(-HOUR_MS, HOUR_MS) }),
    sleeps,
    expiry: hasClock && random.chance(0.4) ? "store-clock" : undefined,
    releaseOnStop: !random.chance(0.1),
  };
}

/** Any rate within the stated drift, and often the worst. */
export function drawRate(random: SeededRandom): number {
  const worst = random.pick([SLOWEST_RATE, FASTEST_RATE]);
  return random.pick([worst, worst, 1, random.between(SLOWEST_RATE, FASTEST_RATE)]);
}
