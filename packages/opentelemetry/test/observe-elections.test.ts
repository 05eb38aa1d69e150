import { Elector, MemoryLeaseStore, oncePerOccurrence } from "@leasehold/core";
import { type Clock, MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  type Histogram,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import { logs, metrics } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Fleet } from "@leasehold/fleet";
import { observeElections, type Observation } from "@leasehold/opentelemetry";

/** The scope of the metrics and of the events: the package and its version. */
const SCOPE = { name: "@leasehold/opentelemetry", version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string };
const LEASE_MS = 15_000;
/** The time that each request to a slow store takes. */
const TRIP_MS = 300;

let clock: VirtualClock;
let store: RecordLeaseStore;
let figures: InMemoryMetricExporter;
let reader: PeriodicExportingMetricReader;
let records: InMemoryLogRecordExporter;
let observation: Observation;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
  figures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  reader = new PeriodicExportingMetricReader({ exporter: figures, exportIntervalMillis: 3_600_000 });
  records = new InMemoryLogRecordExporter();
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter: records })] }));
  observation = observeElections();
});
afterEach(async () => {
  observation.stop();
  await reader.shutdown();
  metrics.disable();
  logs.disable();
});

type Metric = ReturnType<InMemoryMetricExporter["getMetrics"]>[number]["scopeMetrics"][number]["metrics"][number];

async function metricsNow(): Promise<readonly Metric[]> {
  figures.reset();
  await reader.forceFlush();
  const [{ scopeMetrics } = { scopeMetrics: [] }] = figures.getMetrics();
  return scopeMetrics.flatMap(({ metrics: ofScope }) => ofScope);
}

/** Everything that is exported now, by the name of the metric: the attributes and the value, or the number of records. */
async function exported(): Promise<Readonly<Record<string, ReadonlyArray<readonly [unknown, number]>>>> {
  return Object.fromEntries(
    (await metricsNow()).map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.map(({ attributes, value }) => [attributes, typeof value === "number" ? value : value.count] as const),
    ]),
  );
}

function elector(candidateId: string, options: { readonly drainTimeoutMs?: number } = {}): Elector {
  return new Elector({ store, election: "nightly", candidateId, clock, logger: false, ...options });
}

/** On a slow store, stops `a` while its task continues, so that `b` takes over. Returns a function that ends both. */
async function everything(): Promise<() => Promise<void>> {
  store = new RecordLeaseStore(new SlowRecords(clock), { clock });
  const work = Promise.withResolvers<void>();
  const a = elector("a", { drainTimeoutMs: 1_000 });
  const running = a.run(() => work.promise).catch(() => undefined);
  await clock.advance(6_000);
  const leadership = elector("b").campaign();
  await clock.advance(LEASE_MS);
  void a.stop().catch(() => undefined);
  await clock.advance(2 * LEASE_MS);
  const successor = await leadership;
  return async () => {
    work.resolve();
    await clock.runUntil(Promise.all([running, successor.release()]));
  };
}

class SlowRecords extends MemoryRecordStore {
  readonly #clock: Clock;

  constructor(passing: Clock) {
    super(passing);
    this.#clock = passing;
  }

  override async get(...args: Parameters<MemoryRecordStore["get"]>): ReturnType<MemoryRecordStore["get"]> {
    await sleep(this.#clock, TRIP_MS);
    return await super.get(...args);
  }

  override async put(...args: Parameters<MemoryRecordStore["put"]>): ReturnType<MemoryRecordStore["put"]> {
    await sleep(this.#clock, TRIP_MS);
    return await super.put(...args);
  }
}

function eventNames(): Array<string | undefined> {
  return records.getFinishedLogRecords().map(({ eventName }) => eventName);
}

const OF_THE_ELECTION = { "leasehold.election": "nightly" };

describe("metrics", () => {
  test("are exported by the real SDK: gauges, counters and durations of every elector", async () => {
    const leadership = elector("a").campaign();
    await clock.advance(6_000);

    expect(await exported()).toEqual({
      "leasehold.leader": [[OF_THE_ELECTION, 1]],
      "leasehold.lease.remaining": [[OF_THE_ELECTION, 12.5]],
      "leasehold.term": [[OF_THE_ELECTION, 1]],
      "leasehold.candidates": [
        [{ ...OF_THE_ELECTION, "leasehold.state": "standby" }, 0],
        [{ ...OF_THE_ELECTION, "leasehold.state": "leading" }, 1],
        [{ ...OF_THE_ELECTION, "leasehold.state": "ending" }, 0],
      ],
      // A counter begins at 0. Otherwise the increase of its first step is not seen.
      "leasehold.overruns": [[OF_THE_ELECTION, 0]],
      "leasehold.transitions": [[{ ...OF_THE_ELECTION, "leasehold.reason": "elected" }, 1]],
      "leasehold.renewal.duration": [[{ ...OF_THE_ELECTION, "leasehold.outcome": "ok" }, 1]],
      "leasehold.store.request.duration": [
        [{ "leasehold.store": "memory", "leasehold.operation": "get", "leasehold.outcome": "ok" }, 1],
        [{ "leasehold.store": "memory", "leasehold.operation": "put", "leasehold.outcome": "ok" }, 2],
      ],
    });
    expect(figures.getMetrics()[0]?.scopeMetrics[0]?.scope).toMatchObject(SCOPE);
    await (await leadership).release();
  });

  test("of a process that thawed after its lease show no leader", async () => {
    const leadership = elector("a").campaign();
    await clock.advance(1_000);
    expect((await exported())["leasehold.leader"]).toEqual([[OF_THE_ELECTION, 1]]);

    // No timer has run since.
    clock.freeze(LEASE_MS);

    const { "leasehold.leader": leader, "leasehold.lease.remaining": remaining } = await exported();
    expect(leader).toEqual([[OF_THE_ELECTION, 0]]);
    expect(remaining).toEqual([[OF_THE_ELECTION, 0]]);
    await (await leadership).release();
  });

  test("count takeovers and overruns", async () => {
    const end = await everything();
    const { "leasehold.overruns": overruns, "leasehold.takeover.duration": takeovers } = await exported();
    expect(overruns).toEqual([[OF_THE_ELECTION, 1]]);
    expect(takeovers).toEqual([[OF_THE_ELECTION, 1]]);
    await end();
  });

  test("have units and descriptions", async () => {
    const end = await everything();
    const shown = (await metricsNow()).map(({ descriptor }) => descriptor);
    expect(Object.fromEntries(shown.map(({ name, unit }) => [name, unit]))).toEqual({
      "leasehold.leader": "",
      "leasehold.lease.remaining": "s",
      "leasehold.term": "",
      "leasehold.candidates": "{candidate}",
      "leasehold.transitions": "{transition}",
      "leasehold.overruns": "{overrun}",
      "leasehold.renewal.duration": "s",
      "leasehold.takeover.duration": "s",
      "leasehold.store.request.duration": "s",
    });
    for (const { description } of shown) expect(description).toMatch(/^\w.+\.$/);
    await end();
  });

  test("have durations in seconds, with bounds that fit a store and a lease", async () => {
    const end = await everything();
    const all = await metricsNow();
    const durations = (name: string): ReadonlyArray<{ readonly boundaries: readonly number[]; readonly meanS: number }> =>
      all
        .filter(({ descriptor }) => descriptor.name === name)
        .flatMap(({ dataPoints }) => dataPoints.map(({ value }) => value as Histogram))
        .map(({ buckets, sum, count }) => ({ boundaries: buckets.boundaries, meanS: sum! / count }));

    const [renewal] = durations("leasehold.renewal.duration");
    expect(renewal!.boundaries.slice(0, 3)).toEqual([0.005, 0.01, 0.025]);
    expect(renewal!.meanS).toBeCloseTo(TRIP_MS / 1_000);
    for (const { boundaries, meanS } of durations("leasehold.store.request.duration")) {
      expect(boundaries).toEqual(renewal!.boundaries);
      expect(meanS).toBeCloseTo(TRIP_MS / 1_000);
    }
    const [takeover] = durations("leasehold.takeover.duration");
    expect(takeover!.boundaries.at(-1)).toBeGreaterThan(LEASE_MS / 1_000);
    // The duration is a lease, and the time in which a standby notices that it has expired.
    expect(takeover!.meanS).toBeGreaterThan((0.8 * LEASE_MS) / 1_000);
    expect(takeover!.meanS).toBeLessThan((1.5 * LEASE_MS) / 1_000);
    await end();
  });

  test("count the occurrences of a schedule under its name", async () => {
    await clock.runUntil(
      oncePerOccurrence({ store, name: "nightly", scheduledAt: clock.wallMs(), logger: false }, () => undefined),
    );
    const {
      "leasehold.transitions": transitions,
      "leasehold.occurrences": occurrences,
      "leasehold.occurrence.lateness": lateness,
    } = await exported();
    expect(transitions?.map(([attributes]) => attributes)).toContainEqual({ ...OF_THE_ELECTION, "leasehold.reason": "elected" });
    expect(occurrences).toEqual([[{ ...OF_THE_ELECTION, "leasehold.outcome": "done" }, 1]]);
    expect(lateness).toEqual([[OF_THE_ELECTION, 1]]);
  });

  test("count the members and the shards of a fleet under its name, and name no shard", async () => {
    const fleets = ["a", "b"].map((memberId) => new Fleet({ store, fleet: "orders", shards: 5, memberId, logger: false }));
    const running = Promise.all(fleets.map((fleet) => fleet.run(({ ended }) => ended)));
    await clock.advance(60_000);
    const all = await exported();
    const ofFleet = (more: object = {}) => ({ "leasehold.fleet": "orders", ...more });
    expect(all["leasehold.fleet.held"]).toEqual([[ofFleet(), 5]]);
    expect(all["leasehold.fleet.shards"]).toEqual([
      [ofFleet({ "leasehold.state": "held" }), 5],
      [ofFleet({ "leasehold.state": "leaving" }), 0],
      [ofFleet({ "leasehold.state": "free" }), 0],
    ]);
    expect(all["leasehold.fleet.members"]).toEqual([[ofFleet(), 2]]);
    expect(all["leasehold.fleet.imbalance"]).toEqual([[ofFleet(), 1]]);
    expect(all["leasehold.fleet.events"]).toContainEqual([ofFleet({ "leasehold.event": "shard_started" }), 5]);
    await Promise.all([...fleets.map((fleet) => fleet.stop()), running, clock.advance(200_000)]);
  });

  test("end when they are stopped", async () => {
    const leadership = elector("a").campaign();
    await clock.advance(1_000);
    observation.stop();
    expect((await exported())["leasehold.leader"] ?? []).toEqual([]);
    const before = eventNames().length;
    await (await leadership).release();
    expect(eventNames()).toHaveLength(before);
  });

  test("leave nothing with the meter once they are stopped", () => {
    const meter = new MeterProvider().getMeter("mine");
    const added = vi.spyOn(meter, "addBatchObservableCallback");
    const removed = vi.spyOn(meter, "removeBatchObservableCallback");
    observeElections({ meter, logger: false }).stop();
    expect(added).toHaveBeenCalledTimes(2);
    expect(removed.mock.calls).toEqual(added.mock.calls);
  });

  test("use the meter that is given", async () => {
    observation.stop();
    const other = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const otherReader = new PeriodicExportingMetricReader({ exporter: other, exportIntervalMillis: 3_600_000 });
    observation = observeElections({ meter: new MeterProvider({ readers: [otherReader] }).getMeter("mine"), logger: false });
    const leadership = elector("a").campaign();
    await clock.advance(1_000);
    await otherReader.forceFlush();
    expect(other.getMetrics()[0]?.scopeMetrics[0]?.scope.name).toBe("mine");
    expect(eventNames()).toEqual([]);
    await (await leadership).release();
    await otherReader.shutdown();
  });
});

describe("events", () => {
  test("report each change of the leader, with the candidate and the term", async () => {
    const leadership = elector("a").campaign();
    await clock.advance(6_000);
    await (await leadership).release();

    expect(eventNames()).toEqual([
      "leasehold.new_leader",
      "leasehold.started_leading",
      "leasehold.new_leader",
      "leasehold.stopped_leading",
    ]);
    expect(records.getFinishedLogRecords()[1]).toMatchObject({
      severityNumber: 9,
      attributes: { "leasehold.election": "nightly", "leasehold.candidate.id": "a", "leasehold.term": 1 },
      instrumentationScope: SCOPE,
    });
    expect(records.getFinishedLogRecords()[3]?.attributes).toMatchObject({ "leasehold.reason": "settled" });
  });

  test("warn of a lost lease, with the reason", async () => {
    const leadership = elector("a").campaign();
    await clock.advance(1_000);
    clock.freeze(LEASE_MS);
    await (await leadership).release();

    const lost = records.getFinishedLogRecords().find(({ eventName }) => eventName === "leasehold.ending");
    expect(lost).toMatchObject({
      severityNumber: 13,
      attributes: { "error.type": "LEASE_LOST", "leasehold.reason": "expired", "leasehold.term": 1 },
    });
  });

  test("report an overrun as an error, with the time since the signal", async () => {
    const end = await everything();
    const overrun = records.getFinishedLogRecords().find(({ eventName }) => eventName === "leasehold.overrun");
    expect(overrun).toMatchObject({
      severityNumber: 17,
      attributes: { "leasehold.term": 1, "leasehold.since_signal": 1, "leasehold.candidate.id": "a" },
    });
    await end();
  });

  test("warn of a release that failed", async () => {
    const leadership = elector("a").campaign();
    await clock.advance(1_000);
    vi.spyOn(store, "release").mockRejectedValue(new Error("away"));
    const released = (await leadership).release();
    await clock.advance(LEASE_MS);
    await released;

    const failed = records.getFinishedLogRecords().find(({ eventName }) => eventName === "leasehold.release_failed");
    expect(failed).toMatchObject({ severityNumber: 13, attributes: { "error.type": "Error", "leasehold.term": 1 } });
  });

  test("do not contain the message of an error that is not Leasehold's", async () => {
    const stop = new AbortController();
    const leadership = elector("a").campaign({ signal: stop.signal });
    await clock.advance(1_000);
    stop.abort(new RangeError("password=hunter2"));
    await (await leadership).release();

    const ending = records.getFinishedLogRecords().find(({ eventName }) => eventName === "leasehold.ending");
    expect(ending?.attributes).toMatchObject({ "error.type": "RangeError", "leasehold.reason": "stopped" });
    expect(JSON.stringify(ending?.attributes)).not.toContain("hunter2");
  });
});
