import type { SeededRandom } from "@leasehold/core/testing";
import type { StoreKind } from "./stores/stores.ts";

/** The service's answer to requests about its table, in the whole run, the calm included. */
export type ControlPlane = "well" | "silent" | "slow" | "refuses" | "throttles" | "denies";

/** The requests that the control plane answers. */
export const CONTROL_REQUESTS: ReadonlySet<string> = new Set(["DescribeTable"]);

/** The time of a slow answer, longer than any caller waits. */
export const SLOW_ANSWER_MS = 10_000;

export function drawControlPlane(random: SeededRandom, store: StoreKind): ControlPlane {
  if (store !== "dynamodb") return "well";
  return random.pick(["well", "well", "silent", "slow", "refuses", "throttles", "denies"]);
}
