import type { CloudEvent, Request, Response } from "@google-cloud/functions-framework";
import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import { onAbort } from "@leasehold/core/provider";
import { scheduledMsOf, type Occurrence } from "@leasehold/core/occurrences";
import type { DeliverySource } from "./delivery-source.ts";
import type { FunctionLeadership } from "./function-leadership.ts";
import { gate } from "./gate.ts";
import { HeldResponse } from "./held-response.ts";
import { writeToStandardOutput, type Report } from "./invocation-report.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import type { NotElected, OnlyAsLeaderOptions } from "./options.ts";

export interface GoogleCloudOptions {
  /**
   * The time limit of the service or the job, in milliseconds. @defaultValue CLOUD_RUN_TIMEOUT_SECONDS, else 60_000; for a job's
   * task 600_000
   */
  readonly timeoutMs?: number | undefined;
}

/** The default time limits of a function and of a job's task on Cloud Run. */
const DEFAULT_FUNCTION_TIMEOUT_MS = 60_000;
const DEFAULT_TASK_TIMEOUT_MS = 600_000;
const OWN_OPTIONS: readonly (keyof GoogleCloudOptions)[] = ["timeoutMs"];
/** https://cloud.google.com/logging/docs/structured-logging */
const TO_CLOUD_LOGGING = {
  write: writeToStandardOutput,
  reportFields: ({ level }: Report) => ({ severity: { debug: "DEBUG", info: "INFO", warn: "WARNING", error: "ERROR" }[level] }),
};
const ANSWERED_BY_HANDLER = Symbol("answered by the handler");
/** The lowest HTTP status that means that a request failed. https://www.rfc-editor.org/rfc/rfc9110#section-15 */
const FAILURE_STATUS = 400;

/** The handler returned, but it answered with a failure status. The occurrence is not done. */
class AnsweredAsFailed extends Error {
  override readonly name: string = "AnsweredAsFailed";

  constructor(statusCode: number) {
    super(`The handler answered ${statusCode}: it has failed.`);
  }
}

/**
 * Wraps an HTTP handler of the Functions Framework so that it runs only where its invocation leads. The response is sent after
 * the lease is released. A response that is streamed, or that somebody waits for, is sent at once. A delivery that does not lead
 * is answered with 200 and the JSON of what `onStandby` returns. Cloud Scheduler then does not deliver it again.
 *
 * A handler that answers with a status from 400 has failed, like one that throws. Its occurrence is not done, and the answer is
 * sent.
 *
 * The name of the request has three parts: the host, the job, and the scheduled time. For Cloud Tasks they are the host, the
 * queue and the task. The host differs by region, unless a load balancer is in front. The occurrence is read from the headers
 * `X-CloudScheduler-ScheduleTime` and `X-CloudScheduler-JobName` of Cloud Scheduler. Google does not pass the timeout to a
 * function that was deployed as a service: pass `timeoutMs`.
 *
 * @example
 * ```ts
 * http("nightlyBilling", onlyAsLeaderOnHttp({ store, election: "nightly-billing" }, async (request, response, leadership) => {
 *   await billEverybody({ signal: leadership.signal });
 *   response.sendStatus(204);
 * }));
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, when the function is loaded.
 */
export function onlyAsLeaderOnHttp<Store extends LeaseStore, Standby = NotElected>(
  options: OnlyAsLeaderOptions<[request: Request, response: Response], Store, Standby> & GoogleCloudOptions,
  handler: (request: Request, response: Response, leadership: FunctionLeadership<Store>) => unknown,
): (request: Request, response: Response) => Promise<void> {
  const timeoutMs = options?.timeoutMs ?? runTimeoutMs();
  const held = new WeakMap<Response, HeldResponse>();
  const gated = gate<[Request, Response], Store, typeof ANSWERED_BY_HANDLER, Standby>(
    {
      options: OWN_OPTIONS,
      remainingMs: () => timeoutMs,
      candidateId: ({ executionId }) => candidateId(executionId),
      delivery: deliveryOverHttp,
      occurrence: scheduledByCloudScheduler,
      // https://cloud.google.com/scheduler/docs/configuring/cron-job-schedules
      cronGrainMs: 60_000,
      unscheduled: sourceOfRequest,
      ...TO_CLOUD_LOGGING,
    },
    options,
    async (request, response, leadership): Promise<typeof ANSWERED_BY_HANDLER> => {
      // Send the response once the signal aborts. A handler that waits for its own response to be sent would otherwise wait for
      // ever.
      const answer = held.get(response);
      const stopListening = onAbort(leadership.signal, () => answer?.letGo());
      // Reset the status that the occurrence before this one has set.
      if (leadership.occurrence?.caughtUp) response.statusCode = 200;
      const isFirst = answer?.isGiven === false;
      try {
        await handler(request, response, leadership);
        // If there are two answers, the platform gets the first.
        const { statusCode } = isFirst ? answer : response;
        if (statusCode >= FAILURE_STATUS) throw new AnsweredAsFailed(statusCode);
        return ANSWERED_BY_HANDLER;
      } finally {
        stopListening();
      }
    },
  );
  return async (request, response) => {
    const answer = new HeldResponse(response);
    held.set(response, answer);
    try {
      const standby = await gated(request, response);
      if (standby !== ANSWERED_BY_HANDLER && !answer.isGiven) response.status(200).json(standby ?? null);
      answer.letGo();
    } catch (error) {
      // The handler's own answer tells the platform that it failed.
      if (error instanceof AnsweredAsFailed && answer.isGiven && answer.statusCode >= FAILURE_STATUS) {
        answer.letGo();
        return;
      }
      // Throw, so that the platform learns of the failure, even if the handler answered with success.
      answer.drop();
      throw error;
    }
  };
}

/**
 * Wraps a CloudEvent handler of the Functions Framework so that it runs only where its invocation leads. The occurrence is the
 * event itself, by its id and time. A redelivery has the same id and time. A second region's event has others: pass `occurrence`
 * to use a time from the event's data.
 *
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, when the function is loaded.
 */
export function onlyAsLeaderOnCloudEvent<Data, Store extends LeaseStore, Result, Standby = NotElected>(
  options: OnlyAsLeaderOptions<[event: CloudEvent<Data>], Store, Standby> & GoogleCloudOptions,
  handler: (event: CloudEvent<Data>, leadership: FunctionLeadership<Store>) => Result | Promise<Result>,
): (event: CloudEvent<Data>) => Promise<Result | Standby> {
  const timeoutMs = options?.timeoutMs ?? runTimeoutMs();
  const gated = gate<[CloudEvent<Data>], Store, Result, Standby>(
    {
      options: OWN_OPTIONS,
      remainingMs: () => timeoutMs,
      candidateId: ({ id }) => candidateId(id),
      delivery: deliveryOfEvent,
      occurrence: theEventItself,
      unscheduled: sourceOfEvent,
      ...TO_CLOUD_LOGGING,
    },
    options,
    handler,
  );
  // Take exactly one parameter, because the framework calls a function of two parameters with a callback.
  return (event) => gated(event);
}

/**
 * Wraps the work of a Cloud Run job so that it runs only where its execution leads. Call the result once. Pass as `signal` an
 * AbortSignal that your process aborts on SIGTERM. An execution does not learn when it was due, so the gate `oncePerTick` needs
 * `occurrence`. Let the caller pass the scheduled time to the execution, as an argument or a variable. With the present time, a
 * task that is tried again after the next tick would do that tick, and its own would be lost.
 *
 * Each task competes by itself. In a job of several tasks, `election` has to contain the CLOUD_RUN_TASK_INDEX of the task. If the
 * tasks competed for one election, only the leader's share of the work would be done.
 *
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, and for several tasks that compete for one
 * election.
 */
export function onlyAsLeaderInJob<Store extends LeaseStore, Result, Standby = NotElected>(
  options: OnlyAsLeaderOptions<[], Store, Standby> & GoogleCloudOptions,
  work: (leadership: FunctionLeadership<Store>) => Result | Promise<Result>,
): () => Promise<Result | Standby> {
  const timeoutMs = options?.timeoutMs ?? DEFAULT_TASK_TIMEOUT_MS;
  const { CLOUD_RUN_EXECUTION: execution, CLOUD_RUN_TASK_INDEX: task = "0", CLOUD_RUN_TASK_ATTEMPT: tries = "0" } = process.env;
  checkTaskCount(options?.election, task);
  const names = execution && {
    candidateId: () => `${execution}-${task}-${tries}`,
    delivery: () => `${execution}-${task}`,
  };
  return gate<[], Store, Result, Standby>(
    { options: OWN_OPTIONS, remainingMs: () => timeoutMs, ...names, ...TO_CLOUD_LOGGING },
    options,
    work,
  );
}

/** @throws {ConfigurationError} unless this is the only task of its execution, or its election contains the task's number. */
function checkTaskCount(given: string | (() => string) | undefined, task: string): void {
  const count = process.env["CLOUD_RUN_TASK_COUNT"] ?? "1";
  if (Number(count) <= 1) return;
  const election = typeof given === "function" ? given() : given;
  if (String(election).split(/\D+/).includes(task)) return;
  throw new ConfigurationError(
    `This is task ${task} of the ${count} of a Cloud Run job, which would all compete for '${election}': one would lead, and the others would leave their shares out and succeed. Set the job's task count to 1, or name the task in the election: \`${election}-\${process.env.CLOUD_RUN_TASK_INDEX}\`.`,
  );
}

function runTimeoutMs(): number {
  const seconds = Number(process.env["CLOUD_RUN_TIMEOUT_SECONDS"]);
  return seconds > 0 ? seconds * 1_000 : DEFAULT_FUNCTION_TIMEOUT_MS;
}

/** https://cloud.google.com/run/docs/container-contract#env-vars */
function candidateId(id: string | undefined): string | undefined {
  return id && `${process.env["K_REVISION"] ?? "function"}-${id}`;
}

/** https://cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations.jobs#HttpTarget */
function scheduledByCloudScheduler({ headers }: Request): Occurrence {
  const { "x-cloudscheduler-jobname": job, "x-cloudscheduler-scheduletime": scheduled } = headers;
  const scheduledMs = scheduledMsOf(scheduled, "The header X-CloudScheduler-ScheduleTime", PASS_OCCURRENCE);
  // A full name contains the region. Its last part is the same in every region.
  return {
    name:
      String(job ?? "")
        .split("/")
        .at(-1) ?? "",
    scheduledMs,
  };
}

function theEventItself({ id, time }: CloudEvent<unknown>): Occurrence {
  return { name: id, scheduledMs: scheduledMsOf(time, "The event's time", PASS_OCCURRENCE) };
}

/**
 * Names the request by the host too, because jobs of one name in two regions send two requests. Each calls the host of its
 * region.
 */
function deliveryOverHttp({ headers }: Request): string | undefined {
  const { host, "x-cloudscheduler-jobname": job, "x-cloudscheduler-scheduletime": scheduled, [TASK]: task } = headers;
  if (task !== undefined) return [host, headers["x-cloudtasks-queuename"], task].join(" ");
  return scheduled === undefined ? undefined : [host, job, scheduled].join(" ");
}

/** Names the event by the subscription too. Two subscriptions of one topic each deliver a message, and these are two requests. */
function deliveryOfEvent({ id, source, data }: CloudEvent<unknown>): string {
  const { subscription } = (data ?? {}) as { readonly subscription?: unknown };
  return [source, ...(typeof subscription === "string" ? [subscription] : []), id].join(" ");
}

const MESSAGE_PUBLISHED = "google.cloud.pubsub.topic.v1.messagePublished";
const PUBSUB: DeliverySource = { name: "Pub/Sub", advice: "throws", isQueue: true, limit: "maxDeliveryAttempts" };
const CLOUD_TASKS: DeliverySource = { name: "Cloud Tasks", advice: "throws", isQueue: true, limit: "maxAttempts" };
/** https://cloud.google.com/eventarc/docs/cloudevents */
const JOB_EXECUTED = "google.cloud.scheduler.job.v1.executed";
/** https://cloud.google.com/tasks/docs/creating-http-target-tasks#handler */
const TASK = "x-cloudtasks-taskname";

/**
 * The header that names the subscription of an unwrapped message whose metadata is written.
 * https://cloud.google.com/pubsub/docs/payload-unwrapping
 */
const UNWRAPPED = "x-goog-pubsub-subscription-name";

/** Returns `undefined` for a call of Cloud Scheduler. Every other request is not a schedule's. */
function sourceOfRequest({ headers, body }: Request): DeliverySource | undefined {
  if (headers[TASK] !== undefined) return CLOUD_TASKS;
  if (isPushedMessage(headers, body)) return PUBSUB;
  if (headers["x-cloudscheduler-scheduletime"] !== undefined) return undefined;
  const type = headers["ce-type"];
  return typeof type === "string"
    ? pushedEvent(type)
    : { name: "an HTTP request that is not Cloud Scheduler's", advice: "throws", isQueue: false };
}

function sourceOfEvent({ type }: CloudEvent<unknown>): DeliverySource | undefined {
  if (type === MESSAGE_PUBLISHED) return PUBSUB;
  return type === JOB_EXECUTED ? undefined : pushedEvent(type);
}

function pushedEvent(type: string): DeliverySource {
  return { name: `a CloudEvent ('${type.slice(0, 100)}')`, advice: "throws", isQueue: false };
}

/** https://cloud.google.com/pubsub/docs/push#properties_of_a_push_subscription */
function isPushedMessage(headers: Request["headers"], body: unknown): boolean {
  if (headers[UNWRAPPED] !== undefined) return true;
  const { message, subscription } = (body ?? {}) as { readonly message?: unknown; readonly subscription?: unknown };
  return typeof subscription === "string" && typeof message === "object" && message !== null && "messageId" in message;
}
