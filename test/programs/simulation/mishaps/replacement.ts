import type { SeededRandom } from "@leasehold/core/testing";
import { isQuorum } from "../stores/stores.ts";
import type { World } from "../world.ts";
import type { MishapKind, Scope } from "./mishap.ts";

/** A member of a quorum gets an empty store: some processes are started again with it, and others go on with the former one. */
export interface Replacement {
  readonly kind: "replacement";
  /** Which of them, by a number from 0 to 1. */
  readonly which: number;
  /** How likely a process that starts afterwards is given the former list, but for the first one. */
  readonly laggards: number;
  /** Nobody reaches the former store any more. */
  readonly leaves: boolean;
  /**
   * For a while some of the other members are out of reach of those who have the former store, and the rest of these of
   * everybody else: with the replaced one, either are a majority. After so long, for so long; 0: at no time.
   */
  readonly splitsAfterMs: number;
  readonly splitsForMs: number;
  /** When each candidate's process is started again; undefined: not for this. */
  readonly restartsAfterMs: ReadonlyArray<number | undefined>;
}

/** How long until a member is looked at again that could not be replaced yet, in leases. */
const AGAIN_LEASES = 0.1;

export const replacement: MishapKind<Replacement> = {
  // A plan has one or none, drawn after everything else: see drawReplacement.
  share: 0,
  draw: (random, { leaseMs, count }) => ({
    kind: "replacement",
    which: random.next(),
    laggards: random.pick([0, 0.3, 0.6]),
    leaves: random.chance(0.3),
    splitsAfterMs: leaseMs * random.between(0, 2),
    splitsForMs: random.chance(0.7) ? leaseMs * random.between(0.5, 3) : 0,
    restartsAfterMs: Array.from({ length: count }, () =>
      random.chance(0.6) ? leaseMs * random.pick([0, random.between(0, 0.3), random.between(0, 2)]) : undefined,
    ),
  }),
  befall: (mishap, world) => {
    const { members } = world.store;
    if (!members || world.calm) return;
    const member = Math.floor(mishap.which * members.count);
    if (!members.replace(member, mishap.laggards, mishap.leaves)) {
      world.beforeCalm(AGAIN_LEASES * world.leaseMs, () => replacement.befall(mishap, world));
      return;
    }
    world.note("service", `member ${member} is given an empty store`);
    world.beforeCalm(mishap.splitsAfterMs, () => members.split(mishap.splitsForMs));
    world.beforeCalm(mishap.splitsAfterMs + mishap.splitsForMs, () => world.endFormerMember());
    for (const [seat, afterMs] of mishap.restartsAfterMs.entries()) {
      if (afterMs !== undefined) world.beforeCalm(afterMs, () => restart(seat, world));
    }
  },
};

/** Draws what may befall a quorum once in a run: before anybody has written anything, or later. */
export function drawReplacement(
  random: SeededRandom,
  scope: Scope & { readonly calmAtMs: number },
): ReadonlyArray<{ readonly atMs: number } & Replacement> {
  if (!isQuorum(scope.store) || !random.chance(0.5)) return [];
  const atMs = random.pick([0, random.between(0, 0.3) * scope.leaseMs, random.between(0, 0.8) * scope.calmAtMs]);
  return [{ atMs, ...replacement.draw(random, scope) }];
}

function restart(seat: number, world: World): void {
  const process = world.seats[seat]?.process;
  if (process?.clock.alive) world.restart(process);
}
