/** Histogram bounds, in seconds, for requests: a store takes milliseconds to seconds for them. */
export const REQUEST_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Histogram bounds, in seconds, for takeovers: they take up to a few leases. */
export const TAKEOVER_BOUNDS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120];
