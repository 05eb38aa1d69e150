import { availableParallelism } from "node:os";

/** One lane for each processor: the last work that was queued in it. */
const lanes: Array<Promise<unknown>> = Array.from({ length: availableParallelism() }, () => Promise.resolve());
let next = 0;

/**
 * Runs `start` when it is its turn: as many at once as there are processors. If forty processes start together, they slow each
 * other down so much that their first requests run into their time limits.
 */
export async function inTurn<Result>(start: () => Promise<Result>): Promise<Result> {
  const lane = next;
  next = (next + 1) % lanes.length;
  const started = lanes[lane]!.then(start);
  lanes[lane] = started.catch(() => undefined);
  return await started;
}
