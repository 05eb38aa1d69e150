/**
 * Waits until all have ended, even if one has failed. Only then throws the first failure. Otherwise the others would lose their
 * services, start processes again for ever, and keep this process alive.
 */
export async function allEnded<T>(running: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(running);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
