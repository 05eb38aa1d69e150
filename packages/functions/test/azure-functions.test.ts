import type { InvocationContext, Timer } from "@azure/functions";
import { ConfigurationError, MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader } from "@leasehold/functions/azure-functions";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

const ELECTION = "nightly-billing";
const SETTING = "AzureFunctionsJobHost__functionTimeout";
const context = invocationOf("nightlyBilling");

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function invocationOf(functionName: string): InvocationContext {
  return { functionName, invocationId: "8476a536" } as InvocationContext;
}

/** A timer that was due `agoMs` ago. */
function timer(agoMs = 0): Timer {
  const next = new Date(clock.wallMs() - agoMs).toISOString();
  return { isPastDue: false, schedule: { adjustForDST: true }, scheduleStatus: { last: next, lastUpdated: next, next } };
}

test("names the function and the invocation, and passes on the timer and the context", async () => {
  const handler = onlyAsLeader(
    { store, election: ELECTION, clock, logger: false },
    ({ isPastDue }, { functionName }, { candidateId }) => {
      return { isPastDue, functionName, candidateId };
    },
  );

  await expect(handler(timer(), context)).resolves.toEqual({
    isPastDue: false,
    functionName: "nightlyBilling",
    candidateId: "nightlyBilling-8476a536",
  });
});

describe("the time of an invocation", () => {
  /** The time after which the signal aborts, in milliseconds, with a margin of 0. */
  async function timeoutOf(functionTimeoutMs?: number): Promise<number> {
    const options = { store, election: ELECTION, clock, logger: false, shutdownMarginMs: 0, functionTimeoutMs } as const;
    const handler = onlyAsLeader(options, async (_timer, _context, { signal }) => {
      const beganMs = clock.monotonicMs();
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await clock.runUntil(aborted, 200_000_000);
      return clock.monotonicMs() - beganMs;
    });
    return (await handler(timer(), context)) as number;
  }

  test.each([
    { setting: undefined, ms: 300_000 },
    { setting: "00:10:00", ms: 600_000 },
    { setting: "0:00:30", ms: 30_000 },
    { setting: "02:30:15", ms: 9_015_000 },
    { setting: "1.06:00:00", ms: 108_000_000 },
    { setting: "-1", ms: 86_400_000 },
  ])("is $ms ms where the app setting is $setting", async ({ setting, ms }) => {
    stubSetting(setting);

    await expect(timeoutOf()).resolves.toBe(ms);
  });

  test("is functionTimeoutMs, whatever the setting says", async () => {
    stubSetting("ten minutes");

    await expect(timeoutOf(120_000)).resolves.toBe(120_000);
  });

  test("is refused by its name when the function is loaded, if it is no number", () => {
    const wrong = { store, election: ELECTION, clock, functionTimeoutMs: "00:05:00" as never };
    expect(() => onlyAsLeader(wrong, () => "ran")).toThrow(/^functionTimeoutMs must be a number/);
  });

  test.each(["", "ten minutes", "600", "10:00", "00:10:00.5", "-00:10:00"])("is refused if the setting is %j", (setting) => {
    stubSetting(setting);

    expect(() => onlyAsLeader({ store, election: ELECTION, clock, logger: false }, () => "ran")).toThrow(ConfigurationError);
    expect(() => onlyAsLeader({ store, election: ELECTION, clock, logger: false }, () => "ran")).toThrow(
      /functionTimeout is .*pass functionTimeoutMs/,
    );
  });
});

describe("an occurrence", () => {
  function once() {
    return onlyAsLeader(
      { store, election: ELECTION, gate: "oncePerTick", clock, logger: false },
      (_timer, _context, { occurrence }) => occurrence,
    );
  }

  test("is named by the function and the timer's next, the time at which it was due", async () => {
    const dueMs = clock.wallMs() - 250;

    await expect(once()(timer(250), context)).resolves.toMatchObject({ name: "nightlyBilling", scheduledMs: dueMs, attempt: 1 });
    await expect(once()(timer(250), context)).resolves.toEqual({ elected: false, reason: "done" });
    await expect(once()(timer(250), invocationOf("other"))).resolves.toMatchObject({
      name: "other",
    });
  });

  test("is checked by the system's clock if there is no other clock", async () => {
    const timed = onlyAsLeader({ store: new MemoryLeaseStore(), election: ELECTION, gate: "oncePerTick" }, () => "ran");
    const next = new Date().toISOString();

    await expect(timed({ ...timer(), scheduleStatus: { last: next, lastUpdated: next, next } }, context)).resolves.toBe("ran");
  });

  test.each([
    ["no monitor", null],
    ["no next", {}],
    ["the beginning of time for its next", { next: "0001-01-01T00:00:00" }],
  ])("is refused for a timer with %s", async (_, scheduleStatus) => {
    const fired = once()({ ...timer(), scheduleStatus } as Timer, context);

    await expect(fired).rejects.toThrow(ConfigurationError);
    await expect(fired).rejects.toThrow(/The timer's scheduleStatus\.next is .*Pass 'occurrence'/);
  });

  test("in the future is refused, as runOnStartup makes it", async () => {
    await expect(once()(timer(-60_001), context)).rejects.toThrow(/in the future.*runOnStartup/);
  });

  test("less than a minute in the future is accepted, because clocks differ", async () => {
    await expect(once()(timer(-60_000), context)).resolves.toMatchObject({ scheduledMs: clock.wallMs() + 60_000 });
  });

  test("is refused without a timer", async () => {
    await expect(once()(undefined as unknown as Timer, context)).rejects.toThrow(/The timer's scheduleStatus\.next is missing/);
  });
});

function stubSetting(setting: string | undefined): void {
  vi.stubEnv(SETTING, setting);
  onTestFinished(() => void vi.unstubAllEnvs());
}
