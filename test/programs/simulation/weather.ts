import type { SeededRandom } from "@leasehold/core/testing";

/** How likely each thing is to happen to a request. */
export interface Weather {
  readonly losesRequest: number;
  readonly losesReply: number;
  readonly late: number;
  /** It is slow on its way there, or the reply on its way back, but not so slow that nobody waits for it. */
  readonly slowRequest: number;
  readonly slowReply: number;
  readonly twice: number;
  readonly reset: number;
  readonly refused: number;
  readonly throttled: number;
  readonly lagging: number;
  /** How likely each leadership's task is to ignore its signal, throw, return, or fall silent. */
  readonly deafTask: number;
  readonly throwingTask: number;
  readonly shortTask: number;
  readonly silentTask: number;
  /** How likely a leadership is to write into the register at each of its steps. */
  readonly writes: number;
  /** How likely it is to publish a value at each of its steps. */
  readonly publishes: number;
}

export function drawWeather(random: SeededRandom): Weather {
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
