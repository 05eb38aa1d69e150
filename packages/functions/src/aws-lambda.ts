import type { LeaseStore } from "@leasehold/core";
import { scheduledMsOf, type Occurrence } from "@leasehold/core/provider";
import type { Context, ScheduledEvent } from "aws-lambda";
import type { FunctionLeadership } from "./function-leadership.ts";
import { gate } from "./gate.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import type { NotElected, OnlyAsLeaderOptions } from "./options.ts";

/**
 * Wraps a Lambda handler so that it runs only where its invocation leads. Its time is what
 * `context.getRemainingTimeInMillis()` says; its candidateId names the function and the request.
 *
 * An occurrence is what EventBridge says in `time` and `resources`, without the region. For a schedule of EventBridge
 * Scheduler with an input of its own, put `<aws.scheduler.scheduled-time>` into that and pass `occurrence`.
 *
 * @example
 * ```ts
 * export const handler = onlyAsLeader({ store, election: "nightly-billing" }, async (event, context, leadership) => {
 *   await billEverybody({ signal: leadership.signal });
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, when the function is loaded.
 */
export function onlyAsLeader<Store extends LeaseStore, Result, Standby = NotElected, Event = ScheduledEvent>(
  options: OnlyAsLeaderOptions<[event: Event, context: Context], Store, Standby>,
  handler: (event: Event, context: Context, leadership: FunctionLeadership<Store>) => Result | Promise<Result>,
): (event: Event, context: Context) => Promise<Result | Standby> {
  const gated = gate<[Event, Context], Store, Result, Standby>(
    {
      remainingMs: (_, context) => context.getRemainingTimeInMillis(),
      candidateId: (_, { functionName, awsRequestId }) => `${functionName}-${awsRequestId}`,
      occurrence: scheduledOccurrence,
    },
    options,
    handler,
  );
  return (event, context) => gated(event, context);
}

/** https://docs.aws.amazon.com/eventbridge/latest/ref/event-events-scheduled-event.html */
function scheduledOccurrence(event: unknown): Occurrence {
  const { time, resources } = (event ?? {}) as Partial<ScheduledEvent>;
  const scheduledMs = scheduledMsOf(time, "The event's time", PASS_OCCURRENCE);
  // arn:aws:events:<region>:<account>:rule/<name>: what comes last is the same in every region.
  const [resource] = Array.isArray(resources) ? (resources as unknown[]) : [];
  const name = typeof resource === "string" ? resource.split(":").slice(5).join(":") : "";
  return { name, scheduledMs };
}
