import type { SeededRandom } from "@leasehold/core/testing";
import type { StoreKind } from "./stores/stores.ts";

/** How a service answers what is asked about it, rather than of it, in all of a run, the calm included. */
export type ControlPlane = "well" | "silent" | "slow" | "refuses" | "throttles" | "denies";

/** The requests that it answers. */
export const CONTROL_REQUESTS: ReadonlySet<string> = new Set(["DescribeTable"]);

/** How long a slow one takes: longer than anybody waits. */
export const SLOW_ANSWER_MS = 10_000;

export function drawControlPlane(random: SeededRandom, store: StoreKind): ControlPlane {
  if (store !== "dynamodb") return "well";
  return random.pick(["well", "well", "silent", "slow", "refuses", "throttles", "denies"]);
}
