import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@leasehold/core/provider";
import type { PlaceTime } from "./moved-time.ts";

/** Real time. */
export const realTime: PlaceTime = {
  clock: systemClock,
  store: (make, { clock = systemClock } = {}) => make(clock),
  pass: (ms) => delay(ms),
  stop: () => undefined,
};
