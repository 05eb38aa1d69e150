import { setTimeout as delay } from "node:timers/promises";

/** Returns the bytes in use on the heap. @throws unless this process can start a garbage collection. */
export async function heapAfterGc(): Promise<number> {
  const { gc } = globalThis;
  if (!gc) throw new Error("Garbage must be collected before the heap is measured: run this by 'npm run bench'.");
  // The second collection frees weak references and finished promises.
  for (let pass = 0; pass < 3; pass += 1) {
    gc();
    await delay(20);
  }
  // Frees the garbage that was made meanwhile.
  gc();
  return process.memoryUsage().heapUsed;
}
