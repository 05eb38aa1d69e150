/** Really waits; the only place in the suite that does. It gives a service time for work that cannot be awaited. */
export async function waitReally(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs everything that is ready to run. */
export async function eventLoopTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
