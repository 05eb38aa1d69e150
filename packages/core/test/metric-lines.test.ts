import { Elector, MemoryLeaseStore, type ElectorOptions, type LeaseStore } from "@leasehold/core";
import { holderElapsedMs } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { ELECTION_DIMENSION, METRIC_NAMES, METRICS_NAMESPACE, publishMetrics } from "@leasehold/core/diagnostics";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";

const ELECTION = "nightly-billing";
const MINUTE_MS = 60_000;

/** One line, with the fields that CloudWatch reads. */
interface Line {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly [{ readonly Metrics: readonly { readonly Name: string }[] }];
  };
  readonly [member: string]: unknown;
}

let clock: VirtualClock;
let store: LeaseStore;
let lines: Line[];

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
  lines = [];
});

afterEach(() => {
  vi.restoreAllMocks();
});

function write(line: string): void {
  expect(line.endsWith("\n")).toBe(true);
  expect(line.trimEnd()).not.toContain("\n");
  lines.push(JSON.parse(line) as Line);
}

function candidate(options: Partial<ElectorOptions> = {}): Elector {
  return new Elector({ store, election: ELECTION, candidateId: "a", clock, ...options });
}

/** Publishes metrics until the end of the test. */
function publish(elector: Elector, options: Parameters<typeof publishMetrics>[1] = { write, clock }): { stop(): void } {
  const metrics = publishMetrics(elector, options);
  onTestFinished(() => metrics.stop());
  return metrics;
}

/** Returns the values of one metric in the order in which they were written. */
function valuesOf(name: string): unknown[] {
  return lines.filter((line) => name in line).map((line) => line[name]);
}

/** Makes a candidate lead. Returns a function that stops it. */
async function leading(elector: Elector): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const running = elector.run(
    async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
    { signal: stopping.signal },
  );
  // The candidate may wait a moment before it acquires, but never until the next minute.
  while (!elector.isLeader) await clock.advance(1);
  return async () => {
    stopping.abort();
    await clock.settle();
    await running;
  };
}

test("a line has the form that the format's specification requires", async () => {
  const elector = candidate();
  publish(elector);
  let startedMs = NaN;
  elector.on("startedLeading", () => (startedMs = clock.wallMs()));
  const stop = await leading(elector);

  expect(lines.at(-1)).toEqual({
    _aws: {
      Timestamp: Math.floor(startedMs),
      CloudWatchMetrics: [
        {
          Namespace: "Leasehold",
          Dimensions: [["Election"]],
          Metrics: [
            { Name: "IsLeader", Unit: "None" },
            { Name: "HasLeader", Unit: "None" },
            { Name: "Transitions", Unit: "Count" },
          ],
        },
      ],
    },
    Election: ELECTION,
    CandidateId: "a",
    Term: 1,
    IsLeader: 1,
    HasLeader: 1,
    Transitions: 1,
  });
  await stop();
  for (const line of lines) {
    const [{ Metrics }] = line._aws.CloudWatchMetrics;
    // For CloudWatch, a name in a directive without a value in the line is an error. So is a time with a fraction.
    for (const { Name } of Metrics) expect(line[Name]).toEqual(expect.any(Number));
    expect(Number.isInteger(line._aws.Timestamp)).toBe(true);
  }
});

test("METRIC_NAMES has the names that are in the lines", () => {
  expect([METRICS_NAMESPACE, ELECTION_DIMENSION]).toEqual(["Leasehold", "Election"]);
  expect(METRIC_NAMES).toEqual({
    isLeader: "IsLeader",
    hasLeader: "HasLeader",
    transitions: "Transitions",
    renewalGapRatio: "RenewalGapRatio",
  });
});

test("a standby writes once in each minute of the wall clock that it does not lead", async () => {
  await leading(candidate({ candidateId: "other" }));
  publish(candidate());
  expect(valuesOf("IsLeader")).toEqual([0]);
  lines = [];

  await clock.advance(10 * MINUTE_MS);

  expect(valuesOf("IsLeader")).toEqual(Array.from({ length: 10 }, () => 0));
  const minutes = lines.map((line) => Math.floor(line._aws.Timestamp / MINUTE_MS));
  expect(new Set(minutes).size).toBe(10);
  // In the middle of the minute: a timer that is late by less than half a minute still counts for its own minute.
  for (const line of lines) expect(line._aws.Timestamp % MINUTE_MS).toBe(MINUTE_MS / 2);
});

test("a leader writes 1 at the start of its term and each minute, and 0 at the end", async () => {
  const elector = candidate();
  publish(elector);
  const stop = await leading(elector);
  expect(valuesOf("IsLeader")).toEqual([0, 1]);
  await clock.advance(2 * MINUTE_MS);
  expect(valuesOf("IsLeader")).toEqual([0, 1, 1, 1]);
  await stop();

  expect(valuesOf("IsLeader")).toEqual([0, 1, 1, 1, 0]);
  expect(valuesOf("Transitions")).toEqual([1]);
});

test("a standby reports the leader of another process until that leader's lease is over", async () => {
  const [other, standby] = [candidate({ candidateId: "other" }), candidate()];
  await leading(other);
  const stopping = new AbortController();
  const running = standby.run(undefined, { signal: stopping.signal });
  publish(standby);
  await clock.advance(2 * MINUTE_MS);
  expect(new Set(valuesOf("HasLeader").slice(1))).toEqual(new Set([1]));
  expect(new Set(valuesOf("IsLeader"))).toEqual(new Set([0]));

  // The leader's process dies, and the standby may no longer write.
  vi.spyOn(store, "renew").mockRejectedValue(new Error("No answer."));
  vi.spyOn(store, "acquire").mockRejectedValue(new Error("Denied."));
  vi.spyOn(store, "release").mockRejectedValue(new Error("No answer."));
  await clock.advance(MINUTE_MS);
  lines = [];
  await clock.advance(2 * MINUTE_MS);
  expect(new Set(valuesOf("HasLeader"))).toEqual(new Set([0]));
  stopping.abort();
  await clock.settle();
  await running;
});

test("a standby that cannot read the store reports no leader once its last poll is older than a lease", async () => {
  await leading(candidate({ candidateId: "other" }));
  const standby = candidate();
  const stopping = new AbortController();
  const running = standby.run(undefined, { signal: stopping.signal });
  await clock.advance(MINUTE_MS);
  publish(standby);
  expect(valuesOf("HasLeader")).toEqual([1]);
  for (const call of ["read", "acquire"] as const) vi.spyOn(store, call).mockRejectedValue(new Error("No answer."));
  await clock.advance(MINUTE_MS);
  expect(valuesOf("HasLeader").at(-1)).toBe(0);
  stopping.abort();
  await clock.settle();
  await running;
});

test("each term counts as a transition", async () => {
  const elector = candidate();
  publish(elector);
  for (let term = 1; term <= 3; term += 1) await elector.tryRun(() => {});

  expect(valuesOf("Transitions")).toEqual([1, 1, 1]);
  expect(lines.filter((line) => "Transitions" in line).map((line) => line["Term"])).toEqual([1, 2, 3]);
});

test("a steady leader uses half of its renew deadline between two renewals, and writes 60 lines an hour", async () => {
  const elector = candidate();
  publish(elector);
  const stop = await leading(elector);
  lines = [];
  await clock.advance(60 * MINUTE_MS);

  expect(lines).toHaveLength(60);
  const ratios = valuesOf("RenewalGapRatio") as number[];
  expect(ratios).toHaveLength(60);
  for (const ratio of ratios) expect(ratio).toBeCloseTo(0.5, 1);
  await stop();
});

test("a renewal that fails at first shows in the ratio, but the time between two terms does not", async () => {
  const renew = store.renew.bind(store);
  let isAway = false;
  store.renew = async (...args) => {
    if (isAway) throw new Error("No answer.");
    return await renew(...args);
  };
  const elector = candidate();
  publish(elector);
  let since = { monotonicMs: 0, wallMs: 0 };
  const gaps: number[] = [];
  const note = (): void => void (since = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  elector.on("startedLeading", note);
  elector.on("renewed", () => {
    gaps.push(holderElapsedMs(clock, since) / elector.timing.renewDeadlineMs);
    note();
  });
  const stop = await leading(elector);
  await clock.advance(7_000);
  isAway = true;
  await clock.advance(5_000);
  isAway = false;
  await clock.advance(8_000);
  await stop();
  await clock.advance(10 * MINUTE_MS);
  const stopAgain = await leading(elector);
  await clock.advance(7_000);
  await stopAgain();

  const ratios = valuesOf("RenewalGapRatio") as number[];
  expect(Math.max(...ratios)).toBe(Math.max(...gaps));
  expect(Math.max(...ratios)).toBeGreaterThan(0.6);
  expect(Math.max(...ratios)).toBeLessThan(1);
});

test("a renewal of a term that began before the metrics is not measured, the next one is", async () => {
  const elector = candidate();
  const stop = await leading(elector);
  publish(elector);
  await clock.advance(5_500);
  await stop();
  expect(valuesOf("RenewalGapRatio")).toEqual([]);
  const stopAgain = await leading(elector);
  await clock.advance(5_500);
  await stopAgain();
  expect(valuesOf("RenewalGapRatio")).toHaveLength(1);
});

test.each(["stop", "using"] as const)("nothing is written, and no timer is left, after %s", async (way) => {
  const elector = candidate();
  const metrics = publishMetrics(elector, { write, clock });
  await clock.advance(3 * MINUTE_MS);
  if (way === "stop") metrics.stop();
  else metrics[Symbol.dispose]();
  metrics.stop();
  expect(clock.pendingTimers).toBe(0);
  lines = [];

  await elector.tryRun(() => {});
  await clock.advance(3 * MINUTE_MS);

  expect(lines).toEqual([]);
});

test("a line that cannot be written causes one warning, and ends neither the leadership nor the metrics", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  let broken = true;
  const elector = candidate();
  publish(elector, {
    clock,
    write: (line) => {
      if (broken) throw new Error("The pipe is closed.");
      write(line);
    },
  });
  const failed = vi.fn<() => void>();
  elector.on("listenerFailed", failed);
  const stop = await leading(elector);
  await clock.advance(2 * MINUTE_MS);
  expect(warned.mock.calls.map(([message]) => message)).toEqual([expect.stringContaining("The pipe is closed.")]);
  expect(failed).not.toHaveBeenCalled();
  expect(elector.isLeader).toBe(true);

  broken = false;
  await clock.advance(MINUTE_MS);
  expect(valuesOf("IsLeader")).toEqual([1]);
  await stop();
});

test("by default they go to standard output, by the system's clock", () => {
  const written = vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  const metrics = publishMetrics(candidate());
  metrics.stop();

  const [[line]] = written.mock.calls as [[string]];
  expect((JSON.parse(line) as Line)._aws.Timestamp).toBeGreaterThan(Date.now() - MINUTE_MS);
});

test.each(["Nächtlich", "夜", " ", "a".repeat(255)])(
  "a line about %j has CloudWatch's format only if CloudWatch takes the name",
  (election) => {
    publish(candidate({ election }));
    expect(lines).toMatchObject([{ Election: election, IsLeader: 0, HasLeader: 0 }]);
    expect("_aws" in lines[0]!).toBe(election.startsWith("a"));
  },
);

test("an object that is not an elector is refused", () => {
  expect(() => publishMetrics({} as Elector)).toThrow("publishMetrics needs an Elector");
});
