import type { SeededRandom } from "@leasehold/core/testing";
import { SHORTEST_LEASE_MS } from "../candidate-plan.ts";
import { clockMayStep } from "../stores/stores.ts";
import { drawClock, type PlannedClock } from "../wrong-clocks.ts";
import type { MishapKind, Scope } from "../faults/fault.ts";

/** An occurrence of a schedule is due, and is delivered more than once. */
export interface Tick {
  readonly kind: "tick";
  readonly deliveries: readonly Delivery[];
}

/** One delivery of an occurrence, to a process of its own. */
export interface Delivery extends PlannedClock {
  readonly afterMs: number;
  /** The time for which its platform lets it run. */
  readonly limitMs: number;
  /** The duration of its work. */
  readonly workMs: number;
  /** Its own lease. Undefined: as long as the platform's limit. */
  readonly leaseDurationMs: number | undefined;
  /** The sender of renewals: the handler at its checkpoints, or a timer. */
  readonly renewal: "checkpoint" | "background";
  /**
   * The behaviour of its handler. A deaf one continues after its signal has aborted. An eager one completes by itself, twice at
   * once.
   */
  readonly handler: "obedient" | "deaf" | "eager" | "throwing";
  /** The time for which the service refuses it once its work is done. */
  readonly refusedForMs: number;
  /** The time after which its process is killed, if it is. */
  readonly diesAfterMs: number | undefined;
  /** The time after which its process is paused, and the duration, if it is. */
  readonly pause: { readonly afterMs: number; readonly forMs: number } | undefined;
}

/** The index of a clock that is right in every run that has a right one. */
const OF_NO_CANDIDATE = Infinity;

export const tick: MishapKind<Tick> = {
  share: 2,
  // A process without a memory uses the store's clock. It takes nothing over if the wall clocks contradict it.
  fits: ({ store, wrongClocks }) => !clockMayStep(store) || wrongClocks === "store" || wrongClocks === "one wall",
  draw: (random, scope) => ({
    kind: "tick",
    deliveries: Array.from({ length: random.pick([1, 2, 2, 3, 4]) }, (_, index) => drawDelivery(random, scope, index)),
  }),
  befall: ({ deliveries }, world) => world.schedule.deliver(deliveries),
};

function drawDelivery(random: SeededRandom, { leaseMs, wrongClocks }: Scope, index: number): Delivery {
  const limitMs = leaseMs * random.between(0.6, 1.5);
  const renewal = random.pick(["checkpoint", "checkpoint", "background"] as const);
  return {
    afterMs: index === 0 ? 0 : leaseMs * random.pick([random.between(0, 0.05), random.between(0, 1.5), random.between(0.8, 1.2)]),
    limitMs,
    workMs: limitMs * random.pick([0, random.between(0, 0.3), random.between(0.3, 0.9)]),
    leaseDurationMs:
      renewal === "background" || random.chance(0.6)
        ? Math.max(leaseMs * random.pick([0.4, 0.4, 1]), SHORTEST_LEASE_MS)
        : undefined,
    renewal,
    handler: random.pick(["obedient", "obedient", "deaf", "deaf", "eager", "throwing"]),
    refusedForMs: random.chance(0.15) ? leaseMs * random.between(0.2, 0.6) : 0,
    diesAfterMs: random.chance(0.1) ? limitMs * random.next() : undefined,
    pause: random.chance(0.3)
      ? { afterMs: limitMs * random.between(0, 0.5), forMs: limitMs * random.between(0.1, 0.5) }
      : undefined,
    ...drawClock(random, wrongClocks, OF_NO_CANDIDATE),
  };
}
