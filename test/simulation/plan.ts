import { SeededRandom } from "@leasehold/core/testing";
import { FASTEST_RATE, SLOWEST_RATE } from "./stores/simulated-store.ts";
import { STORE_KINDS, type StoreKind } from "./stores/stores.ts";

/** Everything that is decided before a run begins. What happens in it follows from this alone. */
export interface Plan {
  readonly seed: number;
  readonly store: StoreKind;
  /** How fast the service's own clock runs. */
  readonly serviceRate: number;
  readonly timing: PlannedTiming;
  readonly candidates: readonly CandidatePlan[];
  /** The first two candidates bear the same id: a label, and no proof of anything. */
  readonly twins: boolean;
  readonly weather: Weather;
  readonly mishaps: readonly Mishap[];
  /** When the last mishap is over, all tasks do as they are told, and the network is good again. */
  readonly calmAtMs: number;
  /**
   * Whether every leadership is asked for its validity after every step. Asking makes a term that is over end at once; a
   * run in which nobody asks shows whether it also does so by itself.
   */
  readonly asks: boolean;
}

export interface PlannedTiming {
  /** The lease of most candidates, and the measure of all other times. */
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
  readonly drainTimeoutMs: number;
  readonly stallTimeoutMs: number | undefined;
  readonly cooldownMs: number | undefined;
}

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

/** How likely each thing is to happen to a request. */
export interface Weather {
  readonly losesRequest: number;
  readonly losesReply: number;
  readonly late: number;
  /** It is slow on its way there, or the reply on its way back, but not so slow that nobody waits for it. */
  readonly slowRequest: number;
  readonly slowReply: number;
  readonly twice: number;
  readonly reset: number;
  readonly refused: number;
  readonly throttled: number;
  readonly lagging: number;
  /** How likely each leadership's task is to ignore its signal, throw, return, or fall silent. */
  readonly deafTask: number;
  readonly throwingTask: number;
  readonly shortTask: number;
  readonly silentTask: number;
  /** How likely a leadership is to write into the register at each of its steps. */
  readonly writes: number;
  /** How likely it is to publish a value at each of its steps. */
  readonly publishes: number;
}

/** Which candidate a mishap befalls: one of them, or whoever leads then. */
export type Victim = number | "leader";

/** Something that happens to a process, to the network or to the service, or that an administrator does. */
export type Mishap = { readonly atMs: number } &
  /** Nothing of the process runs; on a machine that sleeps, its monotonic clock stands still as well. */
  (
    | { readonly kind: "freeze"; readonly who: Victim; readonly forMs: number }
    /** Its wall clock is set. */
    | { readonly kind: "wall-clock-jump"; readonly who: Victim; readonly byMs: number }
    | { readonly kind: "crash"; readonly who: Victim; readonly restartAfterMs: number | undefined; readonly sameId: boolean }
    | { readonly kind: "partition"; readonly who: Victim; readonly forMs: number; readonly side: "requests" | "replies" | "both" }
    /** Its next renewal is its last for a while: then it is cut off. Until then the others' requests are slow. */
    | { readonly kind: "last-renewal"; readonly who: Victim; readonly forMs: number; readonly slowMs: number }
    | { readonly kind: "outage"; readonly forMs: number; readonly how: "silent" | "refuses" | "throttles" }
    /** It is asked to stop, as by SIGTERM. */
    | { readonly kind: "stop"; readonly who: Victim; readonly restartAfterMs: number | undefined }
    | { readonly kind: "resign"; readonly who: Victim }
    | { readonly kind: "break"; readonly immediate: boolean }
    | { readonly kind: "transfer"; readonly to: number; readonly timeoutMs: number }
    | { readonly kind: "corruption"; readonly forMs: number }
    | { readonly kind: "store-clock-step"; readonly byMs: number }
    /** A process without a memory tries once. */
    | { readonly kind: "cold-call"; readonly taskMs: number }
  );

/** How many runs in two hundred are on each store: those of the real SDKs take ten times as long as the others. */
const SHARES: Readonly<Record<StoreKind, number>> = {
  records: 80,
  "records with a push": 57,
  "records with a clock": 57,
  blob: 5,
  dynamodb: 1,
};

const HOUR_MS = 3_600_000;
/** The longest that only the candidate of a transfer may acquire, in leases. */
const LONGEST_RESERVATION = 1;

/** Draws a plan. The same seed gives the same plan. */
export function drawPlan(seed: number, kinds: readonly StoreKind[] = STORE_KINDS): Plan {
  // Neighbouring seeds give unlike plans.
  const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15));
  const store = random.pick(kinds.flatMap((kind) => Array<StoreKind>(SHARES[kind]).fill(kind)) as [StoreKind, ...StoreKind[]]);
  const leaseMs = store === "blob" ? random.pick([15_000, 15_000, 20_000]) : random.pick([15_000, 15_000, 6_000, 30_000]);
  const timing: PlannedTiming = {
    leaseDurationMs: leaseMs,
    retryPeriodMs: leaseMs * random.pick([0.15, 0.15, 0.3, 0.4]),
    drainTimeoutMs: leaseMs * random.pick([1, 1, 0.3, 3]),
    stallTimeoutMs: random.chance(0.2) ? leaseMs * random.pick([0.5, 1]) : undefined,
    cooldownMs: random.chance(0.3) ? leaseMs * random.pick([0, 0.1, 1]) : undefined,
  };
  const count = random.pick([2, 2, 3, 3, 4]);
  const candidates = Array.from({ length: count }, () => drawCandidate(random, store, leaseMs));
  const calmAtMs = leaseMs * random.pick([2, 3, 3, 4, 6]);
  const mishapCount = random.pick([1, 2, 3, 4, 6, 9]);
  const cold = candidates.some(({ expiry }) => expiry === "store-clock") || store === "records with a push";
  const drawn = Array.from({ length: mishapCount }, () => drawMishap(random, { store, leaseMs, count, calmAtMs }));
  const mishaps = drawn.filter((mishap) => isFair(mishap, drawn, cold)).toSorted((one, other) => one.atMs - other.atMs);
  return {
    seed,
    store,
    serviceRate: drawRate(random),
    timing,
    candidates,
    twins: random.chance(0.2),
    weather: drawWeather(random),
    mishaps,
    calmAtMs,
    asks: random.chance(0.7),
  };
}

/**
 * Whether a mishap is within what users are promised. A store's own clock is trusted not to step forward by whoever is
 * told ages by it: whoever starts only after a step cannot notice it. Where one does, nobody relies on that clock.
 */
function isFair(mishap: Mishap, all: readonly Mishap[], reliesOnClock: boolean): boolean {
  const relied = reliesOnClock || all.some(({ kind }) => kind === "cold-call");
  return mishap.kind !== "store-clock-step" || mishap.byMs < 0 || !relied;
}

function drawCandidate(random: SeededRandom, store: StoreKind, leaseMs: number): CandidatePlan {
  const sleeps = random.chance(0.5);
  const hasClock = store === "records with a clock" || store === "dynamodb";
  return {
    leaseDurationMs: leaseMs * (random.chance(0.8) ? 1 : store === "blob" ? 2 : random.pick([0.5, 2])),
    way: random.chance(0.8) ? "run" : "campaign",
    rate: drawRate(random),
    wallRate: drawRate(random),
    wallOffsetMs: random.between(-HOUR_MS, HOUR_MS),
    sleeps,
    expiry: hasClock && random.chance(0.4) ? "store-clock" : undefined,
    releaseOnStop: !random.chance(0.1),
  };
}

/** Any rate within the stated drift, and often the worst. */
function drawRate(random: SeededRandom): number {
  const worst = random.pick([SLOWEST_RATE, FASTEST_RATE]);
  return random.pick([worst, worst, 1, random.between(SLOWEST_RATE, FASTEST_RATE)]);
}

function drawWeather(random: SeededRandom): Weather {
  const sometimes = (most: number): number => (random.chance(0.4) ? random.between(0, most) : 0);
  return {
    losesRequest: sometimes(0.2),
    losesReply: sometimes(0.3),
    late: sometimes(0.1),
    slowRequest: sometimes(0.9),
    slowReply: sometimes(0.9),
    twice: sometimes(0.2),
    reset: sometimes(0.2),
    refused: sometimes(0.2),
    throttled: sometimes(0.1),
    lagging: sometimes(0.5),
    deafTask: sometimes(0.8),
    throwingTask: sometimes(0.2),
    shortTask: sometimes(0.4),
    silentTask: sometimes(0.3),
    writes: sometimes(0.8),
    publishes: sometimes(0.2),
  };
}

interface Scope {
  readonly store: StoreKind;
  readonly leaseMs: number;
  readonly count: number;
  readonly calmAtMs: number;
}

function drawMishap(random: SeededRandom, { leaseMs, count, calmAtMs }: Scope): Mishap {
  const atMs = random.between(0, calmAtMs * 0.95);
  const who: Victim = random.chance(0.6) ? "leader" : Math.floor(random.next() * count);
  const forMs =
    leaseMs * random.pick([random.between(0, 0.3), random.between(0.3, 1), random.between(0.9, 1.2), random.between(1, 3)]);
  const restartAfterMs = random.chance(0.8)
    ? leaseMs * random.pick([0, random.between(0, 0.5), random.between(0.5, 2)])
    : undefined;
  switch (random.pick(MISHAP_KINDS)) {
    case "freeze":
      return { atMs, kind: "freeze", who, forMs };
    case "wall-clock-jump":
      return { atMs, kind: "wall-clock-jump", who, byMs: random.between(-5 * HOUR_MS, 5 * HOUR_MS) };
    case "crash":
      return { atMs, kind: "crash", who, restartAfterMs, sameId: random.chance(0.7) };
    case "partition":
      return { atMs, kind: "partition", who, forMs, side: random.pick(["requests", "replies", "both"]) };
    case "last-renewal":
      return {
        atMs,
        kind: "last-renewal",
        who,
        forMs: leaseMs * random.between(1, 2),
        slowMs: leaseMs * random.between(0.1, 0.165),
      };
    case "outage":
      return { atMs, kind: "outage", forMs, how: random.pick(["silent", "refuses", "throttles"]) };
    case "stop":
      return { atMs, kind: "stop", who, restartAfterMs };
    case "resign":
      return { atMs, kind: "resign", who };
    case "break":
      return { atMs, kind: "break", immediate: random.chance(0.3) };
    case "transfer": {
      const timeoutMs = leaseMs * random.between(0.1, LONGEST_RESERVATION);
      return { atMs, kind: "transfer", to: Math.floor(random.next() * count), timeoutMs };
    }
    case "corruption":
      return { atMs, kind: "corruption", forMs: forMs / 2 };
    case "store-clock-step":
      return { atMs, kind: "store-clock-step", byMs: random.pick([-HOUR_MS, -leaseMs / 2, leaseMs / 2, HOUR_MS]) };
    case "cold-call":
      return { atMs, kind: "cold-call", taskMs: random.between(0, 0.5) * leaseMs };
  }
}

/** Each as often as it stands here. */
const MISHAP_KINDS = [
  "freeze",
  "freeze",
  "freeze",
  "wall-clock-jump",
  "wall-clock-jump",
  "crash",
  "crash",
  "partition",
  "partition",
  "last-renewal",
  "outage",
  "stop",
  "stop",
  "resign",
  "break",
  "transfer",
  "corruption",
  "store-clock-step",
  "cold-call",
  "cold-call",
] as const satisfies readonly [Mishap["kind"], ...Mishap["kind"][]];
