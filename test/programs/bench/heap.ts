import { setTimeout as delay } from "node:timers/promises";

/** The bytes on the heap that are in use. @throws unless this process may collect garbage when it wants to. */
export async function heapAfterGc(): Promise<number> {
  const { gc } = globalThis;
  if (!gc) throw new Error("Garbage must be collected before the heap is measured: run this by 'npm run bench'.");
  // Weak references and finished promises go with the second collection.
  for (let pass = 0; pass < 3; pass += 1) {
    gc();
    await delay(20);
  }
  // What has run meanwhile has left some.
  gc();
  return process.memoryUsage().heapUsed;
}
