import { setTimeout as delay } from "node:timers/promises";

/** Returns the page's indented lines about a mistake, which are its messages. `undefined` while the page is being written. */
export type PageLines = (mistake: string) => readonly string[] | undefined;

/** A line that has not been printed after this time is missing. An idle machine takes seconds. */
const LONGEST_MS = 60_000;
/** All lines have been printed after this time, on the idle machine on which the page is written. */
const WRITING_MS = 15_000;
const POLL_MS = 100;

/**
 * Resolves once all of `expected` have been printed and `quietMs` has passed, in which no other line may come. Resolves after the
 * limit in any case.
 */
export async function untilSaid(
  expected: readonly string[] | undefined,
  said: () => readonly string[],
  quietMs: number,
): Promise<void> {
  if (expected === undefined) return await delay(WRITING_MS);
  const latestMs = performance.now() + LONGEST_MS;
  while (performance.now() < latestMs && !expected.every((line) => said().includes(line))) await delay(POLL_MS);
  await delay(quietMs);
}
