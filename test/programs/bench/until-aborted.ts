import type { LeaderTask } from "@leasehold/core";

/** A task that does nothing but end when it is told to. */
export const untilAborted: LeaderTask = async ({ signal }) => {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
};
