import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import { type LogAttributes, type Clock, sharedClock } from "@leasehold/core/provider";
import { scheduledMsOf, type Occurrence } from "@leasehold/core/occurrences";
import { ELECTION_DIMENSION, isDimensionValue, metricFields } from "@leasehold/core/diagnostics";
import type { Context, ScheduledEvent } from "aws-lambda";
import type { DeliverySource } from "./delivery-source.ts";
import type { FunctionLeadership } from "./function-leadership.ts";
import { gate } from "./gate.ts";
import { writeToStandardOutput, type Report } from "./invocation-report.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import type { NotElected, OnlyAsLeaderOptions } from "./options.ts";

/**
 * Wraps a Lambda handler so that it runs only where its invocation leads. `context.getRemainingTimeInMillis()` returns the time
 * that is left. The candidateId consists of the function's name and the request's id.
 *
 * Lambda delivers an asynchronous request again under the same `awsRequestId`. This id names the request.
 *
 * The occurrence is the event's `time` with the first of its `resources`, without the region. An input of your own has to contain
 * both. For a schedule of EventBridge Scheduler, write
 * `"time": "<aws.scheduler.scheduled-time>", "resources": ["<aws.scheduler.schedule-arn>"]`.
 * For a rule of EventBridge, use an input transformer that passes the event's `time` and `resources`.
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
      unscheduled: sourceOf,
      write: writeToStandardOutput,
      reportFields: (report, _, { functionName }) => metricsOf(report, functionName, sharedClock(options.store, options.clock)),
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
  // arn:aws:events:<region>:<account>:rule/<name>: the last part is the same in every region.
  const [resource] = Array.isArray(resources) ? (resources as unknown[]) : [];
  const name = typeof resource === "string" ? resource.split(":").slice(5).join(":") : "";
  // Only a schedule has one event per time. Two other events of one resource in one second would count as one occurrence.
  if (name === "" || isScheduled(event)) return { name, scheduledMs };
  throw new ConfigurationError(`This is ${sourceName(event)}, which is no tick of a schedule. ${PASS_OCCURRENCE}`);
}

/** The ARN of a rule of EventBridge, or of a schedule of EventBridge Scheduler. */
const SCHEDULE_ARN = /^arn:[^:]+:(?:events:[^:]*:[^:]*:rule|scheduler:[^:]*:[^:]*:schedule)\//;
const SCHEDULERS: readonly unknown[] = ["aws.events", "aws.scheduler"];

/**
 * True for a "Scheduled Event" of a scheduler. An input without `detail-type` and `source` counts too, if it has a `time` and the
 * schedule's ARN.
 */
function isScheduled(event: unknown): boolean {
  const { source, "detail-type": type, time, resources } = (event ?? {}) as Partial<ScheduledEvent>;
  if (type !== undefined) return type === "Scheduled Event" && SCHEDULERS.includes(source);
  const [resource] = Array.isArray(resources) ? (resources as unknown[]) : [];
  return source === undefined && typeof time === "string" && typeof resource === "string" && SCHEDULE_ARN.test(resource);
}

/**
 * Returns the metrics of an invocation, by election. If each delivery has its own election, the metrics are by function, because
 * CloudWatch charges for each dimension value.
 */
function metricsOf({ election, electionVaries, outcome, caughtUp }: Report, functionName: string, clock: Clock): LogAttributes {
  const isByElection = !electionVaries && isDimensionValue(election);
  const dimension = isByElection ? ([ELECTION_DIMENSION, election] as const) : (["Function", functionName] as const);
  const counts = { Ran: outcome === "ran", Skipped: outcome === "skipped", Failed: outcome === "failed", CaughtUp: caughtUp };
  const metrics = Object.entries(counts).map(([name, value]) => ({ name, unit: "Count" as const, value: Number(value) }));
  return metricFields({ wallMs: clock.wallMs(), dimension, metrics });
}

/** The sources that Lambda polls. Once the handler returns, such a source goes on to the next batch. */
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

/** The sources that push each event by itself. Lambda invokes again after an error, and then gives up. */
const PUSHED: Readonly<Record<string, string>> = { "aws:s3": "Amazon S3", "aws:sns": "Amazon SNS", "aws:ses": "Amazon SES" };

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html */
function sourceOf(event: unknown): DeliverySource | undefined {
  if (isScheduled(event)) return undefined;
  const source = recordSource(event);
  const polled = nameIn(POLLED, source);
  if (polled !== undefined) {
    const advice = "returns the whole batch as failed ({ batchItemFailures }, with ReportBatchItemFailures) or throws";
    return { name: polled, advice, isQueue: true, limit: source === "aws:sqs" ? "maxReceiveCount" : undefined };
  }
  return { name: nameIn(PUSHED, source) ?? sourceName(event), advice: "throws", isQueue: false };
}

function recordSource(event: unknown): unknown {
  const { Records, eventSource } = (event ?? {}) as { readonly Records?: unknown; readonly eventSource?: unknown };
  // A pipe of EventBridge passes the records without an event around them.
  const records: unknown = Array.isArray(event) ? event : Records;
  const [first] = Array.isArray(records) ? (records as unknown[]) : [];
  // Amazon SNS writes `EventSource` with a capital letter.
  const record = first as { readonly eventSource?: unknown; readonly EventSource?: unknown } | undefined;
  return record?.eventSource ?? record?.EventSource ?? eventSource;
}

function nameIn(names: Readonly<Record<string, string>>, source: unknown): string | undefined {
  return typeof source === "string" && Object.hasOwn(names, source) ? names[source] : undefined;
}

function sourceName(event: unknown): string {
  const { source } = (event ?? {}) as { readonly source?: unknown };
  return typeof source === "string" ? `an event of '${source.slice(0, 100)}'` : "an event that no schedule has sent";
}
