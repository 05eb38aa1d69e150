import { availableParallelism } from "node:os";

/** One lane for each processor: what runs in it, and what waits for that. */
const lanes: Array<Promise<unknown>> = Array.from({ length: availableParallelism() }, () => Promise.resolve());
let next = 0;

/**
 * Runs `start` when it is its turn: as many at once as there are processors. Forty processes that start together take
 * each other's time for so long that their first requests run into their limits.
 */
export async function inTurn<Result>(start: () => Promise<Result>): Promise<Result> {
  const lane = next;
  next = (next + 1) % lanes.length;
  const started = lanes[lane]!.then(start);
  lanes[lane] = started.catch(() => undefined);
  return await started;
}
