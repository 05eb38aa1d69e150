/** The only real waiting in the suite: for a service to have done what cannot be awaited. */
export async function waitReally(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Lets everything run that is ready to run. */
export async function eventLoopTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
