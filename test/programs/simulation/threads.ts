import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Seeds } from "./seeds.ts";
import { STORE_KINDS } from "./stores/stores.ts";
import { addTally, emptyTally, type Tally } from "./tally.ts";

/** The number of seeds that a thread gets at a time: a second's work or less. */
const BATCH = 100;

/**
 * Runs many seeds on several threads, one kind of store after the other. V8's optimised code of the engine for the first kinds is
 * slower by a sixth once it also has to serve the SDKs. `progress` is called after each batch with the sum so far. It may end the
 * runs.
 */
export async function runOnThreads(seeds: Seeds, threads: number, progress: (sum: Tally) => "go on" | "enough"): Promise<Tally> {
  const sum = emptyTally();
  const batches = inBatches(seeds);
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url));
    try {
      await once(worker, "message");
      for (const batch of batches) {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        worker.postMessage(batch);
        const [tally] = (await once(worker, "message")) as [Tally];
        addTally(sum, tally);
        // Leaving the loop ends the batches, for the others too.
        if (progress(sum) === "enough") return;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, work));
  sum.violations.sort((one, other) => one.seed - other.seed);
  return sum;
}

function* inBatches({ first, count, stores = STORE_KINDS, alone }: Seeds): Generator<Seeds> {
  const end = first + count;
  for (const only of alone ? [undefined] : stores) {
    for (let next = first; next < end; next += BATCH) {
      yield { first: next, count: Math.min(BATCH, end - next), stores, only, alone };
    }
  }
}
