import type { Reservation } from "@leasehold/core/provider";
import type { SeededRandom } from "@leasehold/core/testing";
import type { StoreKind } from "./stores/stores.ts";

/** The options that a candidate may have beyond the lease. */
export interface Turns {
  /** For this time after it has acquired no other candidate may, even if it releases sooner. */
  readonly minimumHoldMs: number;
  /** For a while only its group may come after it. */
  readonly reservation: Reservation | undefined;
  /** The sender of renewals: a timer, or its task. */
  readonly renewal: "scheduled" | "manual";
}

/** The options that some candidates of one run use. */
export interface Customs {
  readonly holds: boolean;
  readonly reservationMs: number | undefined;
}

/** A candidate without such options. */
export const NO_TURNS: Turns = { minimumHoldMs: 0, reservation: undefined, renewal: "scheduled" };

/** The stores without reservations. */
const UNRESERVED: ReadonlySet<StoreKind> = new Set(["records", "kubernetes", "etcd", "quorum", "voting"]);

export function drawCustoms(random: SeededRandom, store: StoreKind, leaseMs: number): Customs {
  const holds = random.chance(0.2);
  // Without the store's clock, the end of a group's reservation cannot be known. A queue has its own order.
  const reserves = random.chance(0.2) && !UNRESERVED.has(store);
  return { holds, reservationMs: reserves ? leaseMs * random.pick([0.3, 1, 1.5]) : undefined };
}

export function drawTurns(random: SeededRandom, { holds, reservationMs }: Customs, leaseMs: number): Turns {
  const group = random.pick(["east", "west", undefined]);
  return {
    minimumHoldMs: holds && random.chance(0.7) ? leaseMs * random.between(0.3, 1) : 0,
    reservation: reservationMs === undefined || !group ? undefined : { group, durationMs: reservationMs },
    renewal: random.chance(0.25) ? "manual" : "scheduled",
  };
}
