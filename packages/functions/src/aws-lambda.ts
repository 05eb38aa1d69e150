import { systemClock, type Clock, type LeaseStore, type LogAttributes } from "@leasehold/core";
import { ELECTION_DIMENSION, isDimensionValue, metricFields, scheduledMsOf, type Occurrence } from "@leasehold/core/provider";
import type { Context, ScheduledEvent } from "aws-lambda";
import type { FunctionLeadership } from "./function-leadership.ts";
import { gate } from "./gate.ts";
import { writeToStandardOutput, type Report } from "./invocation-report.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import type { NotElected, OnlyAsLeaderOptions } from "./options.ts";
import type { QueueSource } from "./platform.ts";

/**
 * Wraps a Lambda handler so that it runs only where its invocation leads. Its time is what
 * `context.getRemainingTimeInMillis()` says; its candidateId names the function and the request.
 *
 * Lambda delivers an asynchronous request again under the same `awsRequestId`, which is what names its deliveries.
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
      delivery: (event, { awsRequestId }) => awsRequestId ?? (event as Partial<ScheduledEvent> | undefined)?.id,
      occurrence: scheduledOccurrence,
      // https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
      cronGrainMs: 60_000,
      queue: queueOf,
      write: writeToStandardOutput,
      reportFields: (report, _, { functionName }) => metricsOf(report, functionName, options.clock ?? systemClock),
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

/** The metrics of an invocation, by its election; where each delivery has one of its own, by the function: each would be paid for. */
function metricsOf({ election, electionVaries, outcome, caughtUp }: Report, functionName: string, clock: Clock): LogAttributes {
  const isByElection = !electionVaries && isDimensionValue(election);
  const dimension = isByElection ? ([ELECTION_DIMENSION, election] as const) : (["Function", functionName] as const);
  const counts = { Ran: outcome === "ran", Skipped: outcome === "skipped", Failed: outcome === "failed", CaughtUp: caughtUp };
  const metrics = Object.entries(counts).map(([name, value]) => ({ name, unit: "Count" as const, value: Number(value) }));
  return metricFields({ wallMs: clock.wallMs(), dimension, metrics });
}

/** The sources that Lambda polls: they go on behind a batch once it was returned from. */
const POLLED: Readonly<Record<string, string>> = {
  "aws:sqs": "Amazon SQS",
  "aws:kinesis": "Kinesis",
  "aws:dynamodb": "a stream of DynamoDB",
  "aws:kafka": "Kafka",
  SelfManagedKafka: "Kafka",
  "aws:mq": "Amazon MQ",
  "aws:rmq": "Amazon MQ",
  "aws:docdb": "a stream of DocumentDB",
};

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html */
function queueOf(event: unknown): QueueSource | undefined {
  const { Records, eventSource } = (event ?? {}) as { readonly Records?: unknown; readonly eventSource?: unknown };
  // A pipe of EventBridge passes the records alone.
  const records: unknown = Array.isArray(event) ? event : Records;
  const [first] = Array.isArray(records) ? (records as unknown[]) : [];
  const source = (first as { readonly eventSource?: unknown } | undefined)?.eventSource ?? eventSource;
  const name = typeof source === "string" && Object.hasOwn(POLLED, source) ? POLLED[source] : undefined;
  return name === undefined
    ? undefined
    : { name, advice: "returns the whole batch as failed ({ batchItemFailures }, with ReportBatchItemFailures) or throws" };
}
