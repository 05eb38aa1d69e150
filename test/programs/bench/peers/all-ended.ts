/**
 * Waits until all have ended, also where one has failed, and only then throws the first failure. What went on beside a failure
 * would find its services gone, start processes anew for ever, and keep this one alive.
 */
export async function allEnded<T>(running: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(running);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
