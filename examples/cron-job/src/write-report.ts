import { setTimeout as delay } from "node:timers/promises";
import type { ClaimedLeadership } from "@leasehold/core";

/** The job. If its signal aborts it throws, and another host does it as the next attempt. */
export async function writeReport({ occurrence, signal }: ClaimedLeadership): Promise<string> {
  const due = new Date(occurrence.scheduledMs).toISOString();
  console.log(`${due}: writing the report, attempt ${occurrence.attempt}`);
  await delay(2_000, undefined, { signal });
  return `the report of ${due}`;
}
