import { ELECTION } from "../stores/simulated-store.ts";
import type { MishapKind } from "./mishap.ts";

/** An administrator asks the leader to hand over to one candidate. */
export interface Transfer {
  readonly kind: "transfer";
  readonly to: number;
  readonly timeoutMs: number;
}

/** The longest that only the candidate of a transfer may acquire, in leases. */
const LONGEST_RESERVATION = 1;

export const transfer: MishapKind<Transfer> = {
  share: 1,
  draw: (random, { leaseMs, count }) => ({
    kind: "transfer",
    to: Math.floor(random.next() * count),
    timeoutMs: leaseMs * random.between(0.1, LONGEST_RESERVATION),
  }),
  befall: ({ to, timeoutMs }, world) => {
    const candidateId = world.seats[to]?.id ?? `c${to}`;
    world.note("operator", `transfers to ${candidateId}, for ${Math.round(timeoutMs)} ms`);
    void world
      .operator()
      .store.transfer(ELECTION, candidateId, { transferTimeoutMs: timeoutMs })
      .then(
        (outcome) => world.note("operator", `transfer: ${outcome}`),
        (error: unknown) => world.note("operator", `transfer: ${String(error)}`),
      );
  },
};
