import { setTimeout as delay } from "node:timers/promises";

/** The indented lines of the page about a mistake: what is said of it. `undefined` while the page is being written. */
export type PageLines = (mistake: string) => readonly string[] | undefined;

/** A line that has not been said by then is missing. An idle machine takes seconds. */
const LONGEST_MS = 60_000;
/** By then all has been said, on the idle machine on which the page is written. */
const WRITING_MS = 15_000;
const POLL_MS = 100;

/** Resolves once all of `expected` have been said, and after `quietMs` more, in which nothing else may be said; or at the latest. */
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
