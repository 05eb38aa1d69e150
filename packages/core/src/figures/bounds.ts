/** The bounds of a histogram of what takes a store milliseconds and seconds, in seconds. */
export const REQUEST_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The bounds of a histogram of what takes up to a few leases, in seconds. */
export const TAKEOVER_BOUNDS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120];
