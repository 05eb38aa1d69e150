/** Tests how an invocation treats a claim that it finds: its owner, the wait for it, and its election. */
import { ConfigurationError, MemoryLeaseStore, type LeaseholdError, type LeaseStore, type Logger } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader, type FunctionLeadership } from "@leasehold/functions";
import { onlyAsLeader as onLambda } from "@leasehold/functions/aws-lambda";
import { onlyAsLeader as onAzure } from "@leasehold/functions/azure-functions";
import { onlyAsLeaderInJob, onlyAsLeaderOnCloudEvent, onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { beforeEach, describe, expect, test } from "vitest";

const ELECTION = "nightly-billing";
const TIMEOUT_MS = 60_000;

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function base(delivery?: string) {
  const named = delivery === undefined ? {} : { delivery: () => delivery };
  return { store, election: ELECTION, remainingMs: TIMEOUT_MS, clock, ...named };
}

/** The options of a platform that gives the time itself. */
function quiet() {
  return { store, election: ELECTION, clock, logger: false } as const;
}

/** Begins work that never ends, like an invocation that dies. */
async function dies(options: ReturnType<typeof base> & { readonly value?: string }): Promise<void> {
  onlyAsLeader(options, () => new Promise(() => undefined))().catch(() => undefined);
  await clock.settle();
}

describe("a claim that an earlier delivery has made", () => {
  test("fails this delivery with an AlreadyClaimedError that names the leader", async () => {
    await dies(base("request-1"));

    await expect(onlyAsLeader(base("request-1"), () => "ran")()).rejects.toMatchObject({
      code: "ALREADY_CLAIMED",
      name: "AlreadyClaimedError",
      election: ELECTION,
      delivery: "request-1",
      leader: { term: 1, state: "held" },
    });
  });

  test("is skipped with onClaimed 'skip', and by another request", async () => {
    await dies(base("request-1"));
    const skipped = { elected: false, reason: "claimed", leader: { term: 1 } };

    await expect(onlyAsLeader({ ...base("request-1"), onClaimed: "skip" }, () => "ran")()).resolves.toMatchObject(skipped);
    await expect(onlyAsLeader(base("request-2"), () => "ran")()).resolves.toMatchObject(skipped);
    await expect(onlyAsLeader(base(), () => "ran")()).resolves.toMatchObject(skipped);
  });

  test("follows the user's value in the store, and is not shown in the leader's value", async () => {
    await dies({ ...base("request-1"), value: "http://a" });

    expect(await store.read(ELECTION)).toMatchObject({ value: "http://a\ndelivery: request-1" });
    await expect(onlyAsLeader(base("request-2"), () => "ran")()).resolves.toMatchObject({ leader: { value: "http://a" } });
  });

  test("has the user's value alone if the request has no name", async () => {
    await dies({ ...base(), value: "http://a" });

    expect(await store.read(ELECTION)).toMatchObject({ value: "http://a" });
  });

  test("keeps the request's name after the handler has published another value", async () => {
    const published = Promise.withResolvers<void>();
    const work = async ({ publish }: FunctionLeadership): Promise<void> => {
      await publish("half of it");
      published.resolve();
      await new Promise(() => undefined);
    };
    onlyAsLeader(base("request-1"), work)().catch(() => undefined);
    await published.promise;

    expect(await store.read(ELECTION)).toMatchObject({ value: "half of it\ndelivery: request-1" });
    await expect(onlyAsLeader(base("request-1"), () => "ran")()).rejects.toMatchObject({ code: "ALREADY_CLAIMED" });
  });

  test("rejects the publication of a value that does not fit", async () => {
    const work = async ({ publish }: FunctionLeadership): Promise<string> => {
      await publish("x".repeat(70_000));
      return "published";
    };
    await expect(onlyAsLeader(base("request-1"), work)()).rejects.toThrow(ConfigurationError);
  });

  test.each(["", "a\nb", "d".repeat(256)])("rejects the delivery name %j before any request", async (delivery) => {
    await expect(onlyAsLeader(base(delivery), () => "ran")()).rejects.toThrow(ConfigurationError);
    expect(await store.read(ELECTION)).toBeUndefined();
  });

  test("leaves room beside the longest value, and refuses a longer value when the function is loaded", () => {
    const { maxValueBytes } = store.capabilities;

    expect(() => onlyAsLeader({ ...base(), value: "v".repeat(maxValueBytes - 266) }, () => "ran")).not.toThrow();
    expect(() => onlyAsLeader({ ...base(), value: "v".repeat(maxValueBytes - 265) }, () => "ran")).toThrow(/at most/);
  });
});

describe("waitMs", () => {
  test("waits for the lease, and works in the time that is left", async () => {
    const working = Promise.withResolvers<void>();
    const first = onlyAsLeader(base("request-1"), () => working.promise)();
    await clock.settle();
    const second = onlyAsLeader({ ...base("request-2"), waitMs: 30_000 }, ({ remainingMs, term }) => [term, remainingMs()])();
    await clock.advance(9_000);
    working.resolve();
    await first;

    const [term, leftMs] = (await clock.runUntil(second)) as [number, number];
    expect(term).toBe(2);
    expect(leftMs).toBeGreaterThan(TIMEOUT_MS - 10_100);
    expect(leftMs).toBeLessThan(TIMEOUT_MS - 8_900);
  });

  test("ends the wait in time, and then skips or fails as without it", async () => {
    await dies(base("request-1"));
    for (const delivery of ["request-1", "request-2"]) {
      const sinceMs = clock.monotonicMs();
      const waited = onlyAsLeader({ ...base(delivery), waitMs: 5_000 }, () => "ran")();
      const outcome = await clock.runUntil(waited.catch((error: unknown) => (error as LeaseholdError).code));

      expect(outcome).toEqual(delivery === "request-1" ? "ALREADY_CLAIMED" : expect.objectContaining({ reason: "claimed" }));
      expect(clock.monotonicMs() - sinceMs).toBeGreaterThan(4_000);
      expect(clock.monotonicMs() - sinceMs).toBeLessThanOrEqual(5_000);
    }
  });

  test("does not wait for an occurrence that is done", async () => {
    const once = {
      ...base(),
      gate: "oncePerTick",
      waitMs: 5_000,
      occurrence: () => ({ name: "n", scheduledMs: clock.wallMs() }),
    } as const;
    await onlyAsLeader(once, () => "ran")();
    const sinceMs = clock.monotonicMs();

    await expect(onlyAsLeader(once, () => "ran")()).resolves.toEqual({ elected: false, reason: "done" });
    expect(clock.monotonicMs()).toBe(sinceMs);
  });

  test.each([-1, Number.NaN, Infinity])("of %d is refused when the function is loaded", (waitMs) => {
    expect(() => onlyAsLeader({ ...base(), waitMs }, () => "ran")).toThrow(ConfigurationError);
  });

  test("that leaves no time to work is refused before any request", async () => {
    for (const waitMs of [TIMEOUT_MS, 55_000]) {
      await expect(onlyAsLeader({ ...base(), waitMs }, () => "ran")()).rejects.toThrow(
        `waitMs is ${waitMs}, and this invocation has 55000 ms in all`,
      );
    }
    expect(await store.read(ELECTION)).toBeUndefined();
  });
});

describe("an election from the event", () => {
  const perTenant = { election: (tenant: string) => `billing-${tenant}` };

  test("is led once for each value, at the same time", async () => {
    const working = Promise.withResolvers<string>();
    const wrapped = onlyAsLeader({ ...base(), ...perTenant }, (tenant: string) => (tenant === "acme" ? working.promise : tenant));
    const acme = wrapped("acme");
    await clock.settle();

    await expect(wrapped("globex")).resolves.toBe("globex");
    await expect(wrapped("acme")).resolves.toMatchObject({ reason: "claimed" });
    working.resolve("acme");
    await expect(acme).resolves.toBe("acme");
    expect(await store.read("billing-acme")).toMatchObject({ term: 1 });
  });

  test("has its own occurrences", async () => {
    const occurrence = (_tenant: string) => ({ name: "nightly", scheduledMs: clock.wallMs() });
    const seen: string[] = [];
    const occurrences = store.occurrences.bind(store);
    const noting: NonNullable<LeaseStore["occurrences"]> = (election) => {
      seen.push(election);
      return occurrences(election);
    };
    Object.assign(store, { occurrences: noting });
    const wrapped = onlyAsLeader({ ...base(), ...perTenant, gate: "oncePerTick", occurrence }, (tenant: string) => tenant);

    await wrapped("acme");
    expect(seen).toContain("billing-acme");
  });

  test.each(["", "a\u0000b", "e".repeat(256), 7])("is checked like any name: %j", async (name) => {
    const wrapped = onlyAsLeader({ ...base(), election: () => name as string }, () => "ran");

    await expect(wrapped()).rejects.toThrow(ConfigurationError);
  });
});

describe("an event that is not known to be a schedule's, and would be lost if a standby returns", () => {
  const sqs = { Records: [{ eventSource: "aws:sqs", messageId: "1" }] };
  const lambdaContext = { functionName: "f", awsRequestId: "1", getRemainingTimeInMillis: () => TIMEOUT_MS } as never;
  const lambda = (event: unknown, more = {}) => onLambda({ ...quiet(), ...more }, () => "ran")(event as never, lambdaContext);
  const azure = (type: string, more = {}) =>
    onAzure({ ...quiet(), ...more }, () => "ran")(
      {} as never,
      { functionName: "f", invocationId: "1", options: { trigger: { type, name: "t" } } } as never,
    );
  const message = { subscription: "projects/p/subscriptions/s", message: { messageId: "1", data: "" } };
  const event = (type: string) => ({
    specversion: "1.0",
    id: "1",
    source: "//pubsub",
    type,
    time: "2026-01-01T00:00:00Z",
    data: message,
  });
  const onEvent = (type: string, more = {}) =>
    onlyAsLeaderOnCloudEvent({ ...quiet(), ...more }, () => "ran")(event(type) as never);
  const onRequest = async (headers: object, body?: unknown, more = {}) =>
    await onlyAsLeaderOnHttp({ ...quiet(), ...more }, () => "ran")({ headers, body } as never, responseOf());
  const arn = "arn:aws:scheduler:eu-central-1:1:schedule/default/nightly";
  const time = "2026-01-01T00:00:00Z";

  test.each([
    ["Amazon SQS", "aws:sqs"],
    ["Kinesis", "aws:kinesis"],
    ["a stream of DynamoDB", "aws:dynamodb"],
    ["Kafka", "aws:kafka"],
    ["Kafka", "SelfManagedKafka"],
    ["Amazon MQ", "aws:mq"],
    ["Amazon MQ", "aws:rmq"],
    ["a stream of DocumentDB", "aws:docdb"],
    ["Amazon S3", "aws:s3"],
    ["Amazon SNS", "aws:sns"],
    ["Amazon SES", "aws:ses"],
    ["Service Bus", "serviceBusTrigger"],
    ["a storage queue", "queueTrigger"],
    ["a container of blobs", "blobTrigger"],
    ["Event Hubs", "eventHubTrigger"],
    ["the change feed of Cosmos DB", "cosmosDBTrigger"],
    ["the change tracking of SQL", "sqlTrigger"],
    ["the change tracking of MySQL", "mysqlTrigger"],
    ["Kafka", "kafkaTrigger"],
    ["RabbitMQ", "rabbitMQTrigger"],
    ["Event Grid", "eventGridTrigger"],
  ])("is called %s if it comes from %s", async (name, source) => {
    const invoked = source.endsWith("Trigger") ? azure(source) : lambda({ eventSource: source, records: {} });
    await expect(invoked).rejects.toThrow(`delivered by ${name},`);
  });

  test.each([
    ["Amazon SQS", () => lambda(sqs), /Amazon SQS.*onStandby.*batchItemFailures/],
    ["a pipe from SQS", () => lambda(sqs.Records), /Amazon SQS/],
    ["Service Bus", () => azure("serviceBusTrigger"), /Service Bus.*throws/],
    ["Pub/Sub", () => onEvent("google.cloud.pubsub.topic.v1.messagePublished"), /Pub\/Sub.*throws/],
    ["Pub/Sub's push", () => onRequest({}, message), /Pub\/Sub/],
    ["Pub/Sub's push, unwrapped", () => onRequest({ "x-goog-pubsub-subscription-name": "s" }, "three"), /Pub\/Sub/],
    ["Cloud Tasks", () => onRequest({ "x-cloudtasks-taskname": "t1" }), /Cloud Tasks/],
    ["a notification of S3", () => lambda({ Records: [{ eventSource: "aws:s3" }] }), /Amazon S3.*onStandby.*throws.*oncePerTick/],
    ["a message of SNS", () => lambda({ Records: [{ EventSource: "aws:sns" }] }), /Amazon SNS/],
    ["a schedule's name without a time", () => lambda({ resources: [arn] }), /no schedule has sent/],
    ["a time of a bucket", () => lambda({ time, resources: ["arn:aws:s3:::b"] }), /no schedule has sent/],
    ["a schedule's name and another source", () => lambda({ source: "acme", time, resources: [arn] }), /an event of 'acme'/],
    [
      "an event that matches a pattern",
      () => lambda({ source: "acme.orders", "detail-type": "OrderPlaced", time, resources: [arn] }),
      /an event of 'acme\.orders'/,
    ],
    [
      "an event of EventBridge's own calls",
      () => lambda({ source: "aws.events", "detail-type": "AWS API Call via CloudTrail" }),
      /an event of 'aws\.events'/,
    ],
    [
      "a record that names a property of every object",
      () => lambda({ Records: [{ eventSource: "constructor" }] }),
      /no schedule/,
    ],
    ["an input of the user's own", () => lambda({ tables: 3 }), /no schedule has sent/],
    ["nothing", () => lambda(null), /no schedule has sent/],
    ["an HTTP trigger", () => azure("httpTrigger"), /no timer \(httpTrigger\)/],
    ["an event of Cloud Storage", () => onEvent("google.cloud.storage.object.v1.finalized"), /storage\.object/],
    ["an event that Eventarc sends over HTTP", () => onRequest({ "ce-type": "google.cloud.audit.log.v1.written" }), /audit\.log/],
    ["an HTTP request of somebody's", () => onRequest({}), /HTTP request that is not Cloud Scheduler's/],
  ])("such as %s, is refused by default", async (_, invoke, advice) => {
    await expect(invoke()).rejects.toThrow(ConfigurationError);
    await expect(invoke()).rejects.toThrow(advice);
    expect(await store.read(ELECTION)).toBeUndefined();
  });

  test("is accepted if onStandby says what a standby returns", async () => {
    const failed = { batchItemFailures: [{ itemIdentifier: "1" }] };
    await expect(lambda(sqs, { onStandby: () => failed })).resolves.toBe("ran");
    await dies(base("request-0"));

    await expect(lambda(sqs, { onStandby: () => failed })).resolves.toEqual(failed);
  });

  test("warns once that a standby's delivery counts, unless it waits for the lease", async () => {
    await dies(base("request-0"));
    const logger = new Lines();
    const options = { logger, onStandby: () => ({ batchItemFailures: [{ itemIdentifier: "1" }] }) };
    await clock.runUntil(lambda(sqs, { ...options, waitMs: 1_000 }));
    expect(logger.warnings).toEqual([]);
    for (let delivery = 0; delivery < 3; delivery += 1) await lambda(sqs, options);
    await lambda({ Records: [{ eventSource: "aws:kinesis" }] }, { ...options, logger: new Lines() });

    expect(logger.warnings).toHaveLength(1);
    expect(logger.warnings[0]).toMatch(/Amazon SQS did not lead.*reach maxReceiveCount.*dead-letter queue.*waitMs/);
  });

  test.each([
    ["Pub/Sub", "maxDeliveryAttempts", (more: object) => onEvent("google.cloud.pubsub.topic.v1.messagePublished", more)],
    ["Cloud Tasks", "maxAttempts", (more: object) => onRequest({ "x-cloudtasks-taskname": "t1" }, undefined, more)],
    ["Service Bus", "maxDeliveryCount", (more: object) => azure("serviceBusTrigger", more)],
    ["a storage queue", "maxDequeueCount", (more: object) => azure("queueTrigger", more)],
    ["a container of blobs", "poisonBlobThreshold", (more: object) => azure("blobTrigger", more)],
  ] as const)("from %s causes a warning that names %s, and is refused by oncePerTick", async (name, limit, invoke) => {
    await dies(base("request-0"));
    const logger = new Lines();
    await invoke({ logger, onStandby: () => "again" });
    expect(logger.warnings).toEqual([expect.stringMatching(new RegExp(`${name} did not lead .* reach ${limit},`))]);

    const occurrence = () => ({ name: "upload-7", scheduledMs: clock.wallMs() });
    await expect(invoke({ gate: "oncePerTick", occurrence })).rejects.toThrow(`This was delivered by ${name}`);
  });

  test("is accepted by oncePerTick if it is pushed, because each event has its own occurrence", async () => {
    const occurrence = () => ({ name: "upload-7", scheduledMs: clock.wallMs() });
    const s3 = { Records: [{ eventSource: "aws:s3" }] };

    await expect(lambda(s3, { gate: "oncePerTick", occurrence })).resolves.toBe("ran");
    await expect(lambda(s3, { gate: "oncePerTick", occurrence })).resolves.toEqual({ elected: false, reason: "done" });
    await expect(onEvent("com.example.night", { gate: "oncePerTick" })).resolves.toBe("ran");
    await expect(lambda(sqs, { gate: "oncePerTick", occurrence })).rejects.toThrow(/Amazon SQS/);
  });

  test("needs 'occurrence', because two events of one source in one second would be one occurrence", async () => {
    const pattern = { source: "aws.ec2", "detail-type": "State change", time: "2026-01-01T00:00:00Z", resources: [arn] };

    await expect(lambda(pattern, { gate: "oncePerTick" })).rejects.toThrow(/no tick of a schedule.*Pass 'occurrence'/);
  });

  test.each([
    ["a rule of EventBridge", () => lambda({ source: "aws.events", "detail-type": "Scheduled Event" })],
    ["EventBridge Scheduler", () => lambda({ source: "aws.scheduler", "detail-type": "Scheduled Event" })],
    ["an input with the schedule's name and time", () => lambda({ time, resources: [arn] })],
    ["a timer of Azure", () => azure("timerTrigger")],
    ["Cloud Scheduler, by HTTP", () => onRequest({ "x-cloudscheduler-scheduletime": "2026-01-01T00:00:00Z" })],
    ["Cloud Scheduler, by an event", () => onEvent("google.cloud.scheduler.job.v1.executed")],
  ])("is not %s", async (_, invoke) => {
    await expect(invoke()).resolves.not.toThrow();
    expect(await store.read(ELECTION)).toMatchObject({ term: 1 });
  });
});

test("a task of a Cloud Run job has one request name for all its tries", async () => {
  process.env["CLOUD_RUN_EXECUTION"] = "nightly-abc12";
  process.env["CLOUD_RUN_TASK_ATTEMPT"] = "0";
  onlyAsLeaderInJob(quiet(), () => new Promise(() => undefined))().catch(() => undefined);
  await clock.settle();
  process.env["CLOUD_RUN_TASK_ATTEMPT"] = "1";

  await expect(onlyAsLeaderInJob(quiet(), () => "ran")()).rejects.toMatchObject({
    code: "ALREADY_CLAIMED",
    delivery: "nightly-abc12-0",
  });
  delete process.env["CLOUD_RUN_EXECUTION"];
  delete process.env["CLOUD_RUN_TASK_ATTEMPT"];
});

/** A logger that keeps warnings. */
class Lines implements Logger {
  readonly warnings: string[] = [];
  debug(): void {}
  info(): void {}
  error(): void {}
  warn(message: string): void {
    this.warnings.push(message);
  }
}

function responseOf(): never {
  const response = {
    write: () => true,
    end: () => response,
    status: () => response,
    json: () => response,
    on: () => response,
    off: () => response,
    getHeaders: () => ({}),
    listenerCount: () => 0,
  };
  return response as never;
}
