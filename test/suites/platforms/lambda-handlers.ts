import type { FunctionLeadership, NotElected } from "@leasehold/functions";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import { SqlLeaseStore } from "@leasehold/sql";

/** The events of the tests: those of EventBridge, with instructions for the handler. */
export interface TestEvent {
  readonly time?: string;
  readonly resources?: readonly string[];
  readonly id?: string;
  /** The handler waits at this URL until the test lets it continue. */
  readonly gate?: string;
  readonly untilAborted?: boolean;
}

const store = new SqlLeaseStore({ sqlite: process.env["LEASES"] as string });
let kept: FunctionLeadership | undefined;

async function work(event: TestEvent, _context: unknown, leadership: FunctionLeadership) {
  const before = kept && { valid: kept.isValid(), aborted: kept.signal.aborted };
  kept = leadership as unknown as FunctionLeadership;
  if (event.gate) await fetch(event.gate);
  if (event.untilAborted && !leadership.signal.aborted) {
    await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
  }
  const { term, occurrence } = leadership;
  const reason = leadership.signal.aborted ? (leadership.signal.reason as { reason?: string }).reason : undefined;
  return { term, occurrence, before, reason, valid: leadership.isValid() };
}

const onStandby = ({ reason, leader }: NotElected): object => ({ reason, leader: leader?.candidateId });

export const exclusive = onlyAsLeader({ store, election: "exclusive", onStandby }, work);
export const short = onlyAsLeader({ store, election: "short", onStandby, leaseDurationMs: 1_500 }, work);
export const once = onlyAsLeader({ gate: "oncePerTick", store, election: "once", onStandby, leaseDurationMs: 12_000 }, work);
