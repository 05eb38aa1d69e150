import type { SeededRandom } from "@leasehold/core/testing";

/** The probability of each fault of a request. */
export interface NetworkFaults {
  readonly losesRequest: number;
  readonly losesReply: number;
  readonly late: number;
  /** The request, or its reply, is slow, but arrives before callers give up. */
  readonly slowRequest: number;
  readonly slowReply: number;
  readonly twice: number;
  readonly reset: number;
  readonly refused: number;
  readonly throttled: number;
  readonly lagging: number;
  /** The probability that a leadership's task ignores its signal, throws, returns, or falls silent. */
  readonly deafTask: number;
  readonly throwingTask: number;
  readonly shortTask: number;
  readonly silentTask: number;
  /** The probability that a leadership writes into the register at each of its steps. */
  readonly writes: number;
  /** The probability that it publishes a value at each of its steps. */
  readonly publishes: number;
}

export function drawNetworkFaults(random: SeededRandom): NetworkFaults {
  const sometimes = (most: number): number => (random.chance(0.4) ? random.between(0, most) : 0);
  return {
    losesRequest: sometimes(0.2),
    losesReply: sometimes(0.3),
    late: sometimes(0.1),
    slowRequest: sometimes(0.9),
    slowReply: sometimes(0.9),
    twice: sometimes(0.2),
    reset: sometimes(0.2),
    refused: sometimes(0.2),
    throttled: sometimes(0.1),
    lagging: sometimes(0.5),
    deafTask: sometimes(0.8),
    throwingTask: sometimes(0.2),
    shortTask: sometimes(0.4),
    silentTask: sometimes(0.3),
    writes: sometimes(0.8),
    publishes: sometimes(0.2),
  };
}
