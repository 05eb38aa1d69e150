import { lastRun } from "@leasehold/functions";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import type { LeaseStore } from "@leasehold/core";

declare const store: LeaseStore;

const DAY_MS = 86_400_000;
export const handler = onlyAsLeader({ gate: "oncePerTick", store, election: "close-watch" }, async () => {
  const last = await lastRun(store, "close-the-books");
  if (!last || Date.now() - last.scheduledMs > 32 * DAY_MS) throw new Error("close-the-books is overdue.");
});
