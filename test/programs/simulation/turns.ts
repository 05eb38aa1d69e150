import type { Reservation } from "@leasehold/core";
import type { SeededRandom } from "@leasehold/core/testing";
import type { StoreKind } from "./stores/stores.ts";

/** The options that a candidate may have beyond the lease. */
export interface Turns {
  /** Nobody may come after it for so long after it has acquired, even if it releases sooner. */
  readonly minimumHoldMs: number;
  /** Only its group may come after it, for a while. */
  readonly reservation: Reservation | undefined;
  /** Who renews its lease: a timer, or its task. */
  readonly renewal: "scheduled" | "manual";
}

/** What the candidates of one run ask for, or some of them. */
export interface Customs {
  readonly holds: boolean;
  readonly reservationMs: number | undefined;
}

/** A candidate that asks for nothing. */
export const NO_TURNS: Turns = { minimumHoldMs: 0, reservation: undefined, renewal: "scheduled" };

/** The stores that keep nothing for a group. */
const UNRESERVED: ReadonlySet<StoreKind> = new Set(["records", "etcd", "quorum", "voting"]);

export function drawCustoms(random: SeededRandom, store: StoreKind, leaseMs: number): Customs {
  const holds = random.chance(0.2);
  // Without a clock of the store's, nobody could tell that a group's turn is over; and a queue has its own order.
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
