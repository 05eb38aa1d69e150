import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@leasehold/core";
import type { PlaceTime } from "./moved-time.ts";

/** How long a service is away where that has to be waited for: four leases of three seconds. */
export const LONG_OUTAGE_MS = 12_000;

/** Time as it passes. */
export const realTime: PlaceTime = {
  clock: systemClock,
  store: (make, { clock = systemClock } = {}) => make(clock),
  pass: (ms) => delay(ms),
  stop: () => undefined,
};
