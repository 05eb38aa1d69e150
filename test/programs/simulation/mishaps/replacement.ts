import type { SeededRandom } from "@leasehold/core/testing";
import { isQuorum } from "../stores/stores.ts";
import type { World } from "../world.ts";
import type { MishapKind, Scope } from "../faults/fault.ts";

/**
 * A member of a quorum gets an empty store. Some processes are started again with it, and others continue with the former one.
 */
export interface Replacement {
  readonly kind: "replacement";
  /** The member, as a number from 0 to 1. */
  readonly which: number;
  /** The probability that a process that starts afterwards gets the former list. The first one never does. */
  readonly laggards: number;
  /** True if no process reaches the former store any more. */
  readonly leaves: boolean;
  /**
   * For a while, processes with the former store do not reach some of the other members. All other processes do not reach the
   * rest of these. Each side is a majority with its store of the replaced member. It begins after `splitsAfterMs` and lasts for
   * `splitsForMs`. 0: never.
   */
  readonly splitsAfterMs: number;
  readonly splitsForMs: number;
  /** The time after which each candidate's process is started again. Undefined: it is not, for this. */
  readonly restartsAfterMs: ReadonlyArray<number | undefined>;
}

/** The wait before another try to replace a member that could not be replaced yet, in leases. */
const AGAIN_LEASES = 0.1;

export const replacement: MishapKind<Replacement> = {
  // A plan has at most one, drawn after everything else: see drawReplacement.
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

/** Draws the replacement in a quorum, at most once in a run: before the first write, or later. */
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
