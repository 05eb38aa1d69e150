import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@leasehold/core";
import type { PlaceTime } from "./firestore-place.ts";

/** Time as it passes. */
export const realTime: PlaceTime = {
  clock: () => systemClock,
  pass: (ms) => delay(ms),
  stop: () => undefined,
};
