import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@leasehold/core";
import type { PlaceTime } from "./moved-time.ts";

/** How long a service is away where that has to be waited for: seven leases of three seconds. */
export const LONG_OUTAGE_MS = 21_000;

/** Time as it passes. */
export const realTime: PlaceTime = {
  clock: systemClock,
  store: (make, { clock = systemClock } = {}) => make(clock),
  pass: (ms) => delay(ms),
  stop: () => undefined,
};
