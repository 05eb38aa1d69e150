/** What `timing()` promises is so, in virtual time: at any options that an elector takes, and any round trips that fit them. */
import { fc, test } from "@fast-check/vitest";
import {
  Elector,
  RecordLeaseStore,
  StoreError,
  timing,
  type Leadership,
  type LeaseRecord,
  type TimingOptions,
  type TimingReport,
} from "@leasehold/core";
import {
  ProcessClock,
  SeededRandom,
  SimulatedRecordService,
  VirtualClock,
  type Network,
  type SimulatedRecordServiceOptions,
} from "@leasehold/core/testing";
import { describe, expect } from "vitest";
import { ELECTION } from "./election-world.ts";
import { EventLog } from "./event-log.ts";
import { untilAborted } from "./leader-tasks.ts";

const SEEDED = { seed: 20_261_122, numRuns: 300, endOnFailure: true };
const TEST_MS = 60_000;

/** Durations that fit together, from fractions. */
const anyOptions: fc.Arbitrary<TimingOptions> = fc
  .record({
    leaseDurationMs: fc.integer({ min: 1_000, max: 60_000 }),
    deadline: fraction(0.05, 0.899),
    interval: fraction(0.02, 0.95),
    attempt: fraction(0.05, 1),
    retry: fraction(0.02, 2),
  })
  .map(({ leaseDurationMs, deadline, interval, attempt, retry }) => {
    const renewDeadlineMs = leaseDurationMs * deadline;
    const renewIntervalMs = renewDeadlineMs * interval;
    return {
      leaseDurationMs,
      renewDeadlineMs,
      renewIntervalMs,
      attemptTimeoutMs: Math.max(((renewDeadlineMs - renewIntervalMs) / 2) * attempt * 0.999_999, 20),
      retryPeriodMs: leaseDurationMs * retry,
    };
  })
  .filter((options) => options.renewIntervalMs + 2 * options.attemptTimeoutMs <= options.renewDeadlineMs);

const someOptions = fc.oneof(fc.constant<TimingOptions>({}), anyOptions);

const services: readonly SimulatedRecordServiceOptions[] = [
  {},
  { pushes: "every-write" },
  { pushes: "every-write", storeClock: { toleranceMs: 0, exact: true } },
  { pushes: "all-but-renewals" },
];

const anyService = fc.constantFrom(...services);

/** How long requests and replies take, as a part of the longest that fits; and when, counted from a renewal, something befalls. */
const anyWeather = fc.record({
  seed: fc.nat(),
  slowness: fc.constantFrom("always the slowest", "anything", "none"),
  renewal: fc.integer({ min: 2, max: 6 }),
  after: fc.oneof(
    fc.record({ of: fc.constant<"trip">("trip"), share: fraction(0, 0.999) }),
    fc.record({ of: fc.constant<"interval">("interval"), share: fraction(0, 1) }),
  ),
});
type Weather = typeof anyWeather extends fc.Arbitrary<infer T> ? T : never;

function fraction(min: number, max: number): fc.Arbitrary<number> {
  return fc.double({ min, max, noNaN: true });
}

/** One service, and candidates whose requests to it take as long as the weather has it. */
class PromisedWorld {
  readonly clock = new VirtualClock();
  readonly report: TimingReport;
  readonly service: SimulatedRecordService;
  /** Puts by their candidate, when they were sent and the service took them. */
  readonly puts: Array<{ readonly sentMs: number }> = [];
  /** Called with the send of the renewal that the weather names, and how long it takes from there until something befalls. */
  onRenewal: (befallsInMs: number) => void = () => undefined;
  outage: { readonly fromMs: number; readonly untilMs: number; readonly refuses: boolean } | undefined;
  readonly #options: TimingOptions;
  readonly #weather: Weather;
  readonly #random: SeededRandom;

  constructor(options: TimingOptions, service: SimulatedRecordServiceOptions, weather: Weather) {
    this.#options = options;
    this.#weather = weather;
    this.#random = new SeededRandom(weather.seed);
    this.service = new SimulatedRecordService(this.clock, service);
    this.report = timing(options, this.candidate("probe").store.capabilities);
  }

  candidate(candidateId: string): PromisedCandidate {
    return new PromisedCandidate(this, candidateId, this.#options);
  }

  /** Half of a round trip: two round trips fit an attempt. */
  legMs(attemptTimeoutMs: number): number {
    const longestMs = (attemptTimeoutMs / 4) * 0.99;
    if (this.#weather.slowness === "none") return 0;
    return this.#weather.slowness === "anything" ? this.#random.next() * longestMs : longestMs;
  }

  /** The network of the candidate whose renewals are counted. */
  network(attemptTimeoutMs: number): Network {
    const pushMs = this.legMs(attemptTimeoutMs);
    return ({ operation }) => {
      if (operation === "watch") return { arrivals: [{ afterMs: 0, replyAfterMs: pushMs }] };
      const thereMs = this.legMs(attemptTimeoutMs);
      const backMs = this.legMs(attemptTimeoutMs);
      const sentMs = this.clock.monotonicMs();
      if (operation === "put") {
        this.puts.push({ sentMs });
        const { renewal, after } = this.#weather;
        const unit = after.of === "trip" ? thereMs + backMs : this.report.renewIntervalMs;
        if (this.puts.length === renewal) this.onRenewal(after.share * unit);
      }
      const arrivesMs = sentMs + thereMs;
      const isLost = this.#isOut(sentMs, arrivesMs);
      const arrivals = isLost
        ? []
        : [{ afterMs: thereMs, ...(this.#isOut(arrivesMs, arrivesMs + backMs) ? {} : { replyAfterMs: backMs }) }];
      const isAnswered = arrivals[0]?.replyAfterMs !== undefined;
      if (isAnswered || !this.outage?.refuses) return { arrivals };
      const error = new StoreError("STORE_UNAVAILABLE", "broken off", {
        store: "simulated",
        operation,
        mayHaveBeenApplied: operation === "put",
      });
      return { arrivals, breaks: { afterMs: thereMs + (isLost ? 0 : backMs), error } };
    };
  }

  plainNetwork(attemptTimeoutMs: number): Network {
    const pushMs = this.legMs(attemptTimeoutMs);
    return ({ operation }) => ({
      arrivals: [
        operation === "watch"
          ? { afterMs: 0, replyAfterMs: pushMs }
          : { afterMs: this.legMs(attemptTimeoutMs), replyAfterMs: this.legMs(attemptTimeoutMs) },
      ],
    });
  }

  #isOut(fromMs: number, untilMs: number): boolean {
    return this.outage !== undefined && fromMs < this.outage.untilMs && untilMs >= this.outage.fromMs;
  }
}

class PromisedCandidate {
  readonly process: ProcessClock;
  readonly store: RecordLeaseStore;
  readonly elector: Elector;
  readonly events: EventLog;
  leadership: Leadership | undefined;
  readonly #stopping = new AbortController();
  #settled: Promise<void> | undefined;

  constructor(world: PromisedWorld, candidateId: string, options: TimingOptions) {
    this.process = new ProcessClock(world.clock);
    const { attemptTimeoutMs } = timing(options);
    this.store = new RecordLeaseStore(
      world.service.connect(this.process, (request) => network(request)),
      { clock: this.process },
    );
    const counted = world.network(attemptTimeoutMs);
    const network: Network = candidateId === "leader" ? counted : world.plainNetwork(attemptTimeoutMs);
    this.elector = new Elector({ ...options, store: this.store, election: ELECTION, candidateId, clock: this.process });
    this.events = new EventLog(this.elector, this.process);
  }

  run(): void {
    const task = (leadership: Leadership): Promise<void> => {
      this.leadership = leadership;
      return untilAborted(leadership);
    };
    this.#settled = this.elector.run(task, { signal: this.#stopping.signal });
    this.#settled.catch(() => undefined);
  }

  stop(): void {
    this.#stopping.abort();
  }
}

describe("what timing promises", () => {
  test.prop([someOptions, anyService, anyWeather, fc.boolean()], SEEDED)(
    "an outage of outageToleratedMs never deposes, whenever it begins and however it shows",
    async (options, service, weather, refuses) => {
      const world = new PromisedWorld(options, service, weather);
      const leader = world.candidate("leader");
      world.onRenewal = (befallsInMs) => {
        const fromMs = world.clock.monotonicMs() + befallsInMs;
        world.outage = { fromMs, untilMs: fromMs + world.report.outageToleratedMs, refuses };
      };
      leader.run();
      await world.clock.advance(10 * world.report.renewIntervalMs + 2 * world.report.leaseDurationMs);

      expect(world.outage).toBeDefined();
      expect(leader.events.all("ending")).toEqual([]);
      expect(leader.elector.isLeader).toBe(true);
    },
    TEST_MS,
  );

  test.prop([someOptions, anyService, anyWeather], SEEDED)(
    "a pause of pauseToleratedMs never deposes, whenever it begins",
    async (options, service, weather) => {
      const world = new PromisedWorld(options, service, weather);
      const leader = world.candidate("leader");
      let paused = false;
      world.onRenewal = (befallsInMs) => {
        world.clock.setTimer(() => {
          paused = true;
          leader.process.pause();
          world.clock.setTimer(() => leader.process.resume(), world.report.pauseToleratedMs);
        }, befallsInMs);
      };
      leader.run();
      await world.clock.advance(10 * world.report.renewIntervalMs + 2 * world.report.leaseDurationMs);

      expect(paused).toBe(true);
      expect(leader.events.all("ending")).toEqual([]);
      expect(leader.elector.isLeader).toBe(true);
    },
    TEST_MS,
  );

  test.prop([someOptions, anyService, anyWeather], SEEDED)(
    "a leader that crashes is succeeded within crashFailoverMs of its last renewal",
    async (options, service, weather) => {
      const world = new PromisedWorld(options, service, weather);
      const { crashFailoverMs } = world.report;
      const leader = world.candidate("leader");
      const standby = world.candidate("standby");
      world.onRenewal = (befallsInMs) => {
        world.clock.setTimer(() => leader.process.kill(), befallsInMs);
      };
      leader.run();
      while (!leader.leadership) await world.clock.step();
      standby.run();
      await world.clock.advance(10 * world.report.renewIntervalMs + 2 * crashFailoverMs);

      const [succeededMs = Infinity] = standby.events.timesMs("startedLeading");
      expect(succeededMs - world.puts.at(-1)!.sentMs).toBeLessThanOrEqual(crashFailoverMs);
    },
    TEST_MS,
  );

  test.prop([someOptions, anyService, anyWeather], SEEDED)(
    "a leader that stops is succeeded within politeHandoverMs of its release",
    async (options, service, weather) => {
      const world = new PromisedWorld(options, service, weather);
      const { politeHandoverMs } = world.report;
      const leader = world.candidate("leader");
      const standby = world.candidate("standby");
      world.onRenewal = (befallsInMs) => {
        world.clock.setTimer(() => leader.stop(), befallsInMs);
      };
      leader.run();
      while (!leader.leadership) await world.clock.step();
      standby.run();
      await world.clock.advance(10 * world.report.renewIntervalMs + 2 * world.report.crashFailoverMs);

      const [succeededMs = Infinity] = standby.events.timesMs("startedLeading");
      expect((world.service.record(ELECTION) as LeaseRecord).candidateId).toBe("standby");
      expect(succeededMs - world.puts.at(-1)!.sentMs).toBeLessThanOrEqual(politeHandoverMs);
    },
    TEST_MS,
  );

  test.prop([someOptions, anyService, anyWeather, fc.boolean()], SEEDED)(
    "a task whose lease cannot be renewed has timeToStopMs before its validity ends",
    async (options, service, weather, refuses) => {
      const world = new PromisedWorld(options, service, weather);
      const leader = world.candidate("leader");
      world.onRenewal = (befallsInMs) => {
        world.outage = { fromMs: world.clock.monotonicMs() + befallsInMs, untilMs: Infinity, refuses };
      };
      let leftMs: number | undefined;
      leader.elector.on("ending", () => {
        leftMs = leader.leadership!.remainingMs();
      });
      leader.run();
      await world.clock.advance(10 * world.report.renewIntervalMs + 2 * world.report.leaseDurationMs);

      expect(leftMs).toBeGreaterThanOrEqual(world.report.timeToStopMs - 1);
    },
    TEST_MS,
  );
});
