import type { ElectorOptions } from "@leasehold/core";
import type { SeededRandom } from "@leasehold/core/testing";
import { isQuorum, type StoreKind } from "./stores/stores.ts";

/** Options of one candidate that differ from the others', at the limits of the allowed values. */
export type ExtremeOptions = Pick<
  ElectorOptions,
  | "attemptTimeoutMs"
  | "cooldownMs"
  | "drainTimeoutMs"
  | "minTerm"
  | "releaseTimeoutMs"
  | "renewDeadlineMs"
  | "renewIntervalMs"
  | "retryPeriodMs"
>;

export const NO_EXTREMES: ExtremeOptions = {};

/** A request in the calm takes less than half of this, as `timing()` requires. */
const SHORTEST_ATTEMPT_MS = 70;
/** The time of a request in the calm, so that a release is confirmed in time. */
const SHORTEST_RELEASE_MS = 50;

/**
 * True if this candidate can release and learn of it in a good network. Its task needs a moment to stop, and so does the request.
 */
export function canRelease({ releaseTimeoutMs = Infinity, drainTimeoutMs = Infinity }: ExtremeOptions): boolean {
  return releaseTimeoutMs >= SHORTEST_RELEASE_MS && drainTimeoutMs > 1;
}

export function drawExtremeOptions(random: SeededRandom, store: StoreKind, leaseMs: number): ExtremeOptions {
  if (!random.chance(0.12)) return NO_EXTREMES;
  const { minTerm, ...others } = { ...random.pick(RENEWING)(leaseMs), ...random.pick(OTHERS)(leaseMs) };
  if (isQuorum(store)) return { ...withRoundTrips(others, leaseMs), ...(minTerm === undefined ? {} : { minTerm }) };
  // A term of etcd is its revision, which cannot be raised. A candidate with a higher minTerm never leads.
  if (minTerm === undefined || store === "etcd") return others;
  // A Lease of Kubernetes holds no term above 2^31 - 1.
  return { ...others, minTerm: store === "kubernetes" ? Math.min(minTerm, 2 ** 30) : minTerm };
}

/** A request of a quorum is up to four round trips, and a pause. */
function withRoundTrips(options: ExtremeOptions, leaseMs: number): ExtremeOptions {
  const { attemptTimeoutMs, renewIntervalMs, releaseTimeoutMs } = options;
  return {
    ...options,
    ...(attemptTimeoutMs === SHORTEST_ATTEMPT_MS ? { attemptTimeoutMs: leaseMs / 10 } : {}),
    ...(renewIntervalMs === undefined ? {} : { renewIntervalMs: Math.max(renewIntervalMs, leaseMs / 10) }),
    ...(releaseTimeoutMs !== undefined ? { releaseTimeoutMs: 8 * SHORTEST_RELEASE_MS } : {}),
  };
}

type Extreme = (leaseMs: number) => ExtremeOptions;

const RENEWING: readonly [Extreme, ...Extreme[]] = [
  () => NO_EXTREMES,
  // Renewals that standbys should not copy. With shorter intervals than a request, an administrator's write could not get in
  // between.
  (leaseMs) => ({ renewIntervalMs: Math.max(leaseMs / 100, SHORTEST_ATTEMPT_MS) }),
  // The latest renewal that leaves room for two attempts before the deadline, which is right before the end.
  (leaseMs) => ({ renewIntervalMs: leaseMs * 0.7, renewDeadlineMs: leaseMs * 0.89, attemptTimeoutMs: (leaseMs * 0.19) / 2.001 }),
  // The longest attempts that fit.
  (leaseMs) => ({ renewIntervalMs: leaseMs / 3, renewDeadlineMs: (leaseMs * 2) / 3, attemptTimeoutMs: leaseMs / 6.001 }),
  () => ({ attemptTimeoutMs: SHORTEST_ATTEMPT_MS }),
];

const OTHERS: readonly [Extreme, ...Extreme[]] = [
  () => ({ cooldownMs: 0 }),
  (leaseMs) => ({ retryPeriodMs: leaseMs / 60 }),
  (leaseMs) => ({ retryPeriodMs: leaseMs * 3 }),
  () => ({ drainTimeoutMs: 1 }),
  () => ({ minTerm: 2 ** 40 }),
  () => ({ releaseTimeoutMs: 1 }),
  () => ({ releaseTimeoutMs: SHORTEST_RELEASE_MS }),
];
