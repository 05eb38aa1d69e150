import { ConfigurationError, MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import type { Context, ScheduledEvent } from "aws-lambda";
import { beforeEach, describe, expect, test } from "vitest";

const ELECTION = "nightly-billing";
const TIMEOUT_MS = 60_000;

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function context(awsRequestId = "8476a536"): Context {
  const beganMs = clock.monotonicMs();
  const getRemainingTimeInMillis = (): number => TIMEOUT_MS - (clock.monotonicMs() - beganMs);
  return { functionName: "billing", awsRequestId, getRemainingTimeInMillis } as Context;
}

function scheduled(region = "eu-central-1", time = "2025-12-30T03:00:00Z"): ScheduledEvent {
  return { id: region, time, region, resources: [`arn:aws:events:${region}:123456789012:rule/nightly`] } as ScheduledEvent;
}

test("names the function and the request, and passes on the event and the context", async () => {
  const handler = onlyAsLeader(
    { store, election: ELECTION, clock, logger: false },
    (event, { awsRequestId }, { candidateId }) => {
      return { time: event.time, awsRequestId, candidateId };
    },
  );

  await expect(handler(scheduled(), context())).resolves.toEqual({
    time: "2025-12-30T03:00:00Z",
    awsRequestId: "8476a536",
    candidateId: "billing-8476a536",
  });
});

test("uses the remaining time that the context reports", async () => {
  const handler = onlyAsLeader({ store, election: ELECTION, clock, logger: false }, async (_event, invocation, { signal }) => {
    await clock.advance(TIMEOUT_MS - 20_000 - 4_001);
    const abortedBefore = signal.aborted;
    await clock.advance(1);
    return { abortedBefore, abortedAfter: signal.aborted, left: invocation.getRemainingTimeInMillis() };
  });
  const late = context();
  // Loading the SDK took a third of the time. The margin is a tenth of the time that is left.
  await clock.advance(20_000);

  await expect(handler(scheduled(), late)).resolves.toEqual({ abortedBefore: false, abortedAfter: true, left: 4_000 });
});

describe("an occurrence", () => {
  function once() {
    return onlyAsLeader(
      { store, election: ELECTION, gate: "oncePerTick", clock, logger: false },
      (_event, _context, { occurrence }) => occurrence?.id,
    );
  }

  test("is named by its rule and its time, the same in every region", async () => {
    await expect(once()(scheduled(), context())).resolves.toBe("rule/nightly@2025-12-30T03:00:00.000Z");
    await expect(once()(scheduled("us-east-1"), context())).resolves.toEqual({ elected: false, reason: "done" });
    await expect(once()(scheduled("us-east-1", "2025-12-31T03:00:00Z"), context())).resolves.toBe(
      "rule/nightly@2025-12-31T03:00:00.000Z",
    );
  });

  test.each([
    ["EventBridge Scheduler, by itself", { source: "aws.scheduler", "detail-type": "Scheduled Event", detail: "{}" }],
    ["an input with its time and its schedule, and whatever else", { tables: 3 }],
  ])("has the same name from %s", async (_, more) => {
    const resources = ["arn:aws:scheduler:eu-central-1:123456789012:schedule/default/nightly"];
    const event = { ...more, time: "2025-12-30T03:00:00Z", resources } as unknown as ScheduledEvent;

    await expect(once()(event, context())).resolves.toBe("schedule/default/nightly@2025-12-30T03:00:00.000Z");
  });

  test.each([
    [
      "no time",
      { resources: ["arn:aws:events:eu-central-1:123456789012:rule/nightly"] },
      /The event's time is missing.*Pass 'occurrence'/,
    ],
    ["a time that is none", { ...scheduled(), time: "tonight" }, /time is "tonight"/],
    ["no rule", { ...scheduled(), resources: [] }, /name is ""/],
    ["an input of the user's own", { tables: 3 }, /time is missing/],
    ["nothing", null, /time is missing/],
  ])("cannot be told from an event with %s", async (_, event, message) => {
    const invoked = once()(event as unknown as ScheduledEvent, context());

    await expect(invoked).rejects.toThrow(ConfigurationError);
    await expect(invoked).rejects.toThrow(message);
  });

  test("comes from 'occurrence' for any other event", async () => {
    const handler = onlyAsLeader(
      {
        store,
        election: ELECTION,
        gate: "oncePerTick",
        clock,
        logger: false,
        occurrence: (event: { readonly scheduledTime: string }) => ({
          name: "nightly",
          scheduledMs: Date.parse(event.scheduledTime),
        }),
      },
      (_event, _context, { occurrence }) => occurrence?.id,
    );

    await expect(handler({ scheduledTime: "2025-12-30T03:00:00Z" }, context())).resolves.toBe("nightly@2025-12-30T03:00:00.000Z");
  });
});
