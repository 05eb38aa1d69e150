/** Tests the one line that each invocation writes about its result. */
import { MemoryLeaseStore, StoreError } from "@leasehold/core";
import type { LogAttributes } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader } from "@leasehold/functions";
import { onlyAsLeader as onLambda } from "@leasehold/functions/aws-lambda";
import { onlyAsLeader as onAzure } from "@leasehold/functions/azure-functions";
import { onlyAsLeaderOnCloudEvent } from "@leasehold/functions/google-cloud";
import type { CloudEvent } from "@google-cloud/functions-framework";
import type { Context, ScheduledEvent } from "aws-lambda";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

const ELECTION = "nightly-billing";
const HOUR_MS = 3_600_000;

let clock: VirtualClock;
let store: MemoryLeaseStore;
let lines: (LogAttributes & { level: string; message: string })[];

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
  lines = [];
});

/** A logger that keeps the lines of gates. The lines of an elector have no outcome. */
function logger() {
  const at =
    (level: string) =>
    (message: string, attributes: LogAttributes = {}): void => {
      if ("outcome" in attributes) lines.push({ ...attributes, level, message });
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function base() {
  return {
    store,
    election: ELECTION,
    remainingMs: 60_000,
    clock,
    logger: logger(),
    candidateId: () => "west-1",
    delivery: () => "1",
  };
}

describe("a line, by a logger", () => {
  test("contains the outcome and the duration", async () => {
    await onlyAsLeader(base(), () => clock.advance(1_500))();

    expect(lines).toEqual([
      {
        level: "info",
        message: "Ran 'nightly-billing', term 1.",
        election: ELECTION,
        candidateId: "west-1",
        delivery: "1",
        outcome: "ran",
        term: 1,
        caughtUp: 0,
        durationMs: 1_500,
      },
    ]);
  });

  test("is written to the logger alone", async () => {
    const texts: string[] = [];
    const context = { functionName: "f", invocationId: "1", log: (text: string) => texts.push(text) } as never;
    const options = { store, election: ELECTION, clock, logger: logger() };
    await onAzure(options, () => "ran")({ isPastDue: false } as never, context);

    expect(lines).toMatchObject([{ message: "Ran 'nightly-billing', term 1." }]);
    expect(texts).toEqual([]);
  });

  test("contains the reason of a skip, and the leader", async () => {
    const work = (): Promise<never> => new Promise(() => undefined);
    onlyAsLeader(base(), work)().catch(() => undefined);
    await clock.settle();
    await onlyAsLeader({ ...base(), delivery: () => "2" }, () => "ran")();

    expect(lines).toMatchObject([
      {
        level: "info",
        message: "Skipped 'nightly-billing': claimed by 'west-1'.",
        outcome: "skipped",
        reason: "claimed",
        leader: "west-1",
      },
    ]);
  });

  test("contains the code of an error and nothing of its message, which may contain the event's data", async () => {
    const failing = onlyAsLeader(base(), () => Promise.reject(new RangeError("no account of Ada Lovelace")));
    await expect(failing()).rejects.toThrow("Ada");

    expect(lines).toMatchObject([{ level: "error", outcome: "failed", error: "RangeError" }]);
    expect(JSON.stringify(lines)).not.toContain("Ada");
  });

  test("is a warning if the occurrence was missed", async () => {
    const occurrence = () => ({ name: "nightly", scheduledMs: clock.wallMs() - 60_000 });
    const late = { ...base(), gate: "oncePerTick", occurrence, startWithinMs: 10_000 } as const;
    await clock.runUntil(onlyAsLeader(late, () => "ran")());

    expect(lines).toMatchObject([{ level: "warn", outcome: "skipped", reason: "missed" }]);
  });

  test("contains the code of an outage, if it fails the invocation or is skipped", async () => {
    const failed = new StoreError("STORE_UNAVAILABLE", "away", { store: "memory", operation: "get", mayHaveBeenApplied: false });
    store.read = () => Promise.reject(failed);
    await expect(clock.runUntil(onlyAsLeader(base(), () => "ran")())).rejects.toThrow("away");
    await clock.runUntil(onlyAsLeader({ ...base(), onUnavailable: "skip" }, () => "ran")());

    expect(lines).toMatchObject([
      { level: "error", outcome: "failed", error: "STORE_UNAVAILABLE" },
      { level: "warn", outcome: "skipped", reason: "unavailable" },
    ]);
  });

  test("contains the occurrence, and the number of missed ones that were done", async () => {
    const scheduledMs = clock.wallMs();
    const catchUp = { previous: (ms: number) => ms - HOUR_MS, atMost: 2, since: "2025-12-31T00:00:00Z" };
    const once = { ...base(), gate: "oncePerTick", catchUp, occurrence: () => ({ name: "nightly", scheduledMs }) } as const;
    await onlyAsLeader(once, () => "ran")();
    await onlyAsLeader(once, () => "ran")();

    const occurrence = "nightly@2026-01-01T00:00:00.000Z";
    expect(lines).toMatchObject([
      { message: `Ran '${occurrence}', term 1, and 2 missed before it.`, outcome: "ran", occurrence, caughtUp: 2 },
      { message: `Skipped '${occurrence}': done.`, outcome: "skipped", reason: "done", occurrence, caughtUp: 0 },
    ]);
  });

  test("contains the number of missed occurrences, if its own ran or was done", async () => {
    const catchUp = { previous: (ms: number) => ms - HOUR_MS, atMost: 1, since: "2025-12-30T00:00:00Z" };
    const at = (scheduledMs: number, more: object = {}) =>
      onlyAsLeader(
        { ...base(), gate: "oncePerTick", occurrence: () => ({ name: "nightly", scheduledMs }), ...more },
        () => "ran",
      )();
    const dueMs = clock.wallMs();
    await at(dueMs, { catchUp });
    await at(dueMs - 5 * HOUR_MS);
    await at(dueMs - 5 * HOUR_MS, { catchUp });

    expect(lines.map(({ message }) => message)).toEqual([
      "Ran 'nightly@2026-01-01T00:00:00.000Z', term 1, and 1 missed before it.",
      "Ran 'nightly@2025-12-31T19:00:00.000Z', term 1.",
      "Skipped 'nightly@2025-12-31T19:00:00.000Z': done. 1 missed before it ran.",
    ]);
  });

  test("that cannot be written fails nothing, and with false no line is written", async () => {
    const throwing = (): never => {
      throw new Error("the disk is full");
    };
    const broken = { debug: throwing, info: throwing, warn: throwing, error: throwing };
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => warned.mockRestore());

    await expect(onlyAsLeader({ ...base(), logger: broken }, () => "ran")()).resolves.toBe("ran");
    await expect(onlyAsLeader({ ...base(), logger: false }, () => "ran")()).resolves.toBe("ran");
    expect(lines).toEqual([]);
  });
});

describe("a line, without a logger", () => {
  const SCHEDULED = { source: "aws.events", "detail-type": "Scheduled Event" } as ScheduledEvent;
  const context = { functionName: "billing", awsRequestId: "8476a536", getRemainingTimeInMillis: () => 60_000 } as Context;

  /** Collects the texts that are written to standard output. */
  function written(): string[] {
    const texts: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => texts.push(String(text)) > 0);
    onTestFinished(() => write.mockRestore());
    return texts;
  }

  test("has CloudWatch's embedded metric format on Lambda, by election", async () => {
    const texts = written();
    await onLambda({ store, election: ELECTION, clock }, () => "ran")(SCHEDULED, context);

    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatch(/\n$/);
    const counts = ["Ran", "Skipped", "Failed", "CaughtUp"];
    expect(JSON.parse(texts[0]!)).toMatchObject({
      outcome: "ran",
      delivery: "8476a536",
      Election: ELECTION,
      Ran: 1,
      Skipped: 0,
      Failed: 0,
      CaughtUp: 0,
      _aws: {
        Timestamp: Date.UTC(2026, 0, 1),
        CloudWatchMetrics: [
          { Namespace: "Leasehold", Dimensions: [["Election"]], Metrics: counts.map((Name) => ({ Name, Unit: "Count" })) },
        ],
      },
    });
  });

  test("has the time of the system's clock if no clock is given", async () => {
    const texts = written();
    const beganMs = Date.now();
    await onLambda({ store: new MemoryLeaseStore(), election: ELECTION }, () => "ran")(SCHEDULED, context);

    const { _aws } = JSON.parse(texts[0]!) as { readonly _aws: { readonly Timestamp: number } };
    expect(_aws.Timestamp).toBeGreaterThanOrEqual(beganMs);
  });

  test("has its metrics by function if each event has its own election, or if CloudWatch does not take the name", async () => {
    const texts = written();
    for (const election of [() => "acme", "Abrechnung bei Nächten"]) {
      await onLambda({ store, election, clock }, () => "ran")(SCHEDULED, context);
    }

    for (const text of texts) {
      expect(JSON.parse(text)).toMatchObject({
        Function: "billing",
        _aws: { CloudWatchMetrics: [{ Dimensions: [["Function"]] }] },
      });
    }
    expect(texts).toHaveLength(2);
  });

  test("has Cloud Logging's name for its level on Google Cloud", async () => {
    const texts = written();
    const event = {
      id: "1",
      source: "//s",
      type: "google.cloud.scheduler.job.v1.executed",
      time: "2026-01-01T00:00:00Z",
    } as CloudEvent<unknown>;
    await onlyAsLeaderOnCloudEvent({ store, election: ELECTION, clock }, () => "ran")(event);

    expect(JSON.parse(texts[0]!)).toMatchObject({
      severity: "INFO",
      message: "Ran 'nightly-billing', term 1.",
      delivery: "//s 1",
    });
  });

  test("contains the subscription on Google Cloud, because two of one topic deliver the same message each", async () => {
    const texts = written();
    const event = {
      id: "1",
      source: "//s",
      type: "google.cloud.scheduler.job.v1.executed",
      time: "2026-01-01T00:00:00Z",
      data: { subscription: "west" },
    };
    await onlyAsLeaderOnCloudEvent({ store, election: ELECTION, clock }, () => "ran")(event as CloudEvent<unknown>);

    expect(JSON.parse(texts[0]!)).toMatchObject({ delivery: "//s west 1" });
  });

  test("goes to the invocation's own log on Azure", async () => {
    const logs: string[] = [];
    const invocation = { functionName: "nightly", invocationId: "1", log: (line: string) => void logs.push(line) } as never;
    await onAzure({ store, election: ELECTION, clock }, () => "ran")({ isPastDue: false } as never, invocation);

    expect(JSON.parse(logs[0]!)).toMatchObject({ outcome: "ran", candidateId: "nightly-1" });
  });

  test("is not written on an unknown platform, because its output may have another use", async () => {
    const texts = written();
    await onlyAsLeader({ store, election: ELECTION, clock, remainingMs: 60_000 }, () => "ran")();

    expect(texts).toEqual([]);
  });
});
