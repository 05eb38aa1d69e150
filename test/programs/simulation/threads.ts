import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Seeds } from "./seeds.ts";
import { addTally, emptyTally, type Tally } from "./tally.ts";

/** How many runs a thread is given at a time: a second's work or less. */
const BATCH = 100;

/** Runs many seeds on several threads. `progress` is called after each batch with the sum so far; it may say that it is enough. */
export async function runOnThreads(seeds: Seeds, threads: number, progress: (sum: Tally) => "go on" | "enough"): Promise<Tally> {
  const sum = emptyTally();
  let next = seeds.first;
  const end = seeds.first + seeds.count;
  let enough = false;
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url));
    try {
      await once(worker, "message");
      while (next < end && !enough) {
        const batch: Seeds = { ...seeds, first: next, count: Math.min(BATCH, end - next) };
        next += batch.count;
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        worker.postMessage(batch);
        const [tally] = (await once(worker, "message")) as [Tally];
        addTally(sum, tally);
        if (progress(sum) === "enough") enough = true;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, work));
  sum.violations.sort((one, other) => one.seed - other.seed);
  return sum;
}
