import type { InvocationContext, Timer } from "@azure/functions";
import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import { type Clock, sharedClock } from "@leasehold/core/provider";
import { scheduledMsOf, type Occurrence } from "@leasehold/core/occurrences";
import type { DeliverySource } from "./delivery-source.ts";
import type { FunctionLeadership } from "./function-leadership.ts";
import { gate } from "./gate.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import type { NotElected, OnlyAsLeaderOptions } from "./options.ts";

export interface AzureFunctionOptions {
  /**
   * `functionTimeout` of host.json, in milliseconds. The platform does not pass it to a function.
   * @defaultValue the app setting AzureFunctionsJobHost__functionTimeout, else 300_000, the default of a consumption plan
   */
  readonly functionTimeoutMs?: number | undefined;
}

/** https://learn.microsoft.com/azure/azure-functions/functions-host-json#functiontimeout */
const TIMEOUT_SETTING = "AzureFunctionsJobHost__functionTimeout";
const DEFAULT_TIMEOUT_MS = 300_000;
/** The time that is assumed for a function without a timeout: a day. */
const UNLIMITED_MS = 86_400_000;
/** The most by which a timer fires early, or two clocks differ. */
const EARLY_MS = 60_000;

/**
 * Wraps a handler of the v4 model's `app.timer` so that it runs only where its invocation leads. The candidateId consists of the
 * function's name and the invocation's id.
 *
 * A timer is delivered again by its retry policy, or after its host has died. Region, site, function and time stay the same then
 * and name the request.
 *
 * The occurrence is the function's name with `scheduleStatus.next` of the timer. `next` is the time at which this invocation was
 * due (https://github.com/Azure/azure-functions-dotnet-worker/issues/954). A timer without a monitor has no `next`: pass
 * `occurrence`. A timer has no monitor with `useMonitor: false`, or if it fires several times a minute.
 *
 * @example
 * ```ts
 * app.timer("nightlyBilling", {
 *   schedule: "0 0 3 * * *",
 *   handler: onlyAsLeader({ store, election: "nightly-billing" }, async (timer, context, leadership) => {
 *     await billEverybody({ signal: leadership.signal });
 *   }),
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, when the function is loaded.
 */
export function onlyAsLeader<Store extends LeaseStore, Result, Standby = NotElected, Trigger = Timer>(
  options: OnlyAsLeaderOptions<[trigger: Trigger, context: InvocationContext], Store, Standby> & AzureFunctionOptions,
  handler: (trigger: Trigger, context: InvocationContext, leadership: FunctionLeadership<Store>) => Result | Promise<Result>,
): (trigger: Trigger, context: InvocationContext) => Promise<Result | Standby> {
  const timeoutMs = options?.functionTimeoutMs ?? settingMs(process.env[TIMEOUT_SETTING]);
  const gated = gate<[Trigger, InvocationContext], Store, Result, Standby>(
    {
      options: ["functionTimeoutMs"],
      remainingMs: () => timeoutMs,
      candidateId: (_, { functionName, invocationId }) => `${functionName}-${invocationId}`,
      delivery: deliveryOf,
      // An NCRONTAB expression names whole seconds. A schedule by a time span also has fractions of seconds.
      cronGrainMs: 1_000,
      unscheduled: sourceOf,
      write: (line, _, context) => context.log(line),
      occurrence: (trigger, context) => scheduledOccurrence(sharedClock(options.store, options.clock), trigger, context),
    },
    options,
    handler,
  );
  return (trigger, context) => gated(trigger, context);
}

/** @throws {ConfigurationError} for an invocation before its time, as `runOnStartup` causes. It would do a future occurrence. */
function scheduledOccurrence(clock: Clock, trigger: unknown, { functionName }: InvocationContext): Occurrence {
  const { scheduleStatus } = (trigger ?? {}) as Partial<Timer>;
  const scheduledMs = scheduledMsOf(scheduleStatus?.next, "The timer's scheduleStatus.next", PASS_OCCURRENCE);
  if (scheduledMs <= clock.wallMs() + EARLY_MS) return { name: functionName, scheduledMs };
  throw new ConfigurationError(
    `The timer's scheduleStatus.next is ${scheduleStatus?.next}, which is in the future: the schedule did not start this invocation. Leave runOnStartup off, or pass 'occurrence'.`,
  );
}

/** https://learn.microsoft.com/azure/app-service/reference-app-settings */
function deliveryOf(trigger: unknown, { functionName }: InvocationContext): string | undefined {
  const { next } = ((trigger ?? {}) as Partial<Timer>).scheduleStatus ?? {};
  const { WEBSITE_SITE_NAME: site = "", REGION_NAME: region = "" } = process.env;
  return next === undefined ? undefined : [region, site, functionName, next].join("/");
}

const TIMER = "timerTrigger";

/** The triggers of queues. Once the function returns, they settle the message or go on to the next one. */
const QUEUES: Readonly<Record<string, string>> = {
  serviceBusTrigger: "Service Bus",
  queueTrigger: "a storage queue",
  blobTrigger: "a container of blobs",
  eventHubTrigger: "Event Hubs",
  cosmosDBTrigger: "the change feed of Cosmos DB",
  sqlTrigger: "the change tracking of SQL",
  mysqlTrigger: "the change tracking of MySQL",
  kafkaTrigger: "Kafka",
  rabbitMQTrigger: "RabbitMQ",
};

/**
 * The settings that limit the deliveries of a message, before it is set aside.
 * https://learn.microsoft.com/azure/azure-functions/functions-bindings-errors
 */
const LIMITS: Readonly<Record<string, string>> = {
  serviceBusTrigger: "maxDeliveryCount",
  queueTrigger: "maxDequeueCount",
  blobTrigger: "poisonBlobThreshold",
};

/** Only a timer is a schedule. Without a binding in the context, the shape of the trigger decides. */
function sourceOf(trigger: unknown, { options }: Partial<InvocationContext>): DeliverySource | undefined {
  const type = options?.trigger.type ?? (isTimer(trigger) ? TIMER : "unknown trigger");
  if (type === TIMER) return undefined;
  const queue = Object.hasOwn(QUEUES, type) ? QUEUES[type] : undefined;
  if (queue !== undefined) return { name: queue, advice: "throws", isQueue: true, limit: LIMITS[type] };
  return {
    name: type === "eventGridTrigger" ? "Event Grid" : `a trigger that is no timer (${type})`,
    advice: "throws",
    isQueue: false,
  };
}

function isTimer(trigger: unknown): boolean {
  return typeof trigger === "object" && trigger !== null && ("isPastDue" in trigger || "scheduleStatus" in trigger);
}

/** Parses a setting such as 00:10:00, or 1.00:00:00 for a day. -1 means no timeout. */
function settingMs(setting: string | undefined): number {
  if (setting === undefined) return DEFAULT_TIMEOUT_MS;
  if (setting === "-1") return UNLIMITED_MS;
  const parts = /^(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})$/.exec(setting);
  if (!parts) {
    throw new ConfigurationError(
      `The app setting ${TIMEOUT_SETTING} is ${JSON.stringify(setting)}; it looks like 00:10:00. Set it right, or pass functionTimeoutMs.`,
    );
  }
  const [, days = "0", hours = "0", minutes = "0", seconds = "0"] = parts;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1_000;
}
