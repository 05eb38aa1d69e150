/**
 * Tests that `timing()` keeps its promises, in virtual time: at any options that an elector accepts, and any round trips that fit
 * them.
 */
import { fc, test } from "@fast-check/vitest";
import { Elector, StoreError, timing, type Leadership, type TimingOptions, type TimingReport } from "@leasehold/core";
import { RecordLeaseStore, type LeaseRecord } from "@leasehold/core/provider";
import {
  ProcessClock,
  SeededRandom,
  SimulatedRecordService,
  VirtualClock,
  type Network,
  type SimulatedRecordServiceOptions,
} from "@leasehold/core/testing";
import { describe, expect } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { EventLog } from "@leasehold/test-kit/event-log";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const SEEDED = { seed: 20_261_122, numRuns: 100, endOnFailure: true };

/** Durations that fit together, made of fractions. */
const anyOptions: fc.Arbitrary<TimingOptions> = fc
  .record({
    leaseDurationMs: fc.integer({ min: 1_000, max: 60_000 }),
    deadline: fraction(0.05, 0.899),
    interval: fc.oneof(fraction(0.02, 0.95), fraction(0.02, 0.1)),
    attempt: fc.oneof(fraction(0.05, 1), fc.constant(1)),
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
  { pushes: true },
  { pushes: true, storeClock: { toleranceMs: 0, exact: true } },
  { pushes: true, showsUndurable: true },
];

const anyService = fc.constantFrom(...services);

/** The latency of requests and replies, as a fraction of the longest that fits. Also the time from a renewal to the fault. */
const anyWeather = fc.record({
  seed: fc.nat(),
  slowness: fc.constantFrom("always the slowest", "anything", "none"),
  renewal: fc.integer({ min: 2, max: 6 }),
  after: fc.oneof(
    fc.record({ of: fc.constant<"trip">("trip"), share: fc.oneof(fraction(0, 0.999), fc.constant(0.99)) }),
    fc.record({ of: fc.constant<"interval">("interval"), share: fraction(0, 1) }),
  ),
});
type NetworkFaults = typeof anyWeather extends fc.Arbitrary<infer T> ? T : never;

function fraction(min: number, max: number): fc.Arbitrary<number> {
  return fc.double({ min, max, noNaN: true });
}

/** One service, and candidates whose requests have the latency of the networkFaults. */
class PromisedWorld {
  readonly clock = new VirtualClock();
  readonly report: TimingReport;
  readonly service: SimulatedRecordService;
  /** The instants at which the leader's puts were sent. */
  readonly puts: Array<{ readonly sentMs: number }> = [];
  /** Called when the networkFaults's renewal is sent, with the time from then until the fault. */
  onRenewal: (befallsInMs: number) => void = () => undefined;
  /** The part of the networkFaults's renewal that is lost. Nothing else is lost. */
  loses: "request" | "reply" | undefined;
  /** The smallest number of round trips that fit into an attempt. */
  roundTripsInAttempt = 2;
  outage: { readonly fromMs: number; readonly untilMs: number; readonly refuses: boolean } | undefined;
  readonly #options: TimingOptions;
  readonly #networkFaults: NetworkFaults;
  readonly #random: SeededRandom;

  constructor(options: TimingOptions, service: SimulatedRecordServiceOptions, networkFaults: NetworkFaults) {
    this.#options = options;
    this.#networkFaults = networkFaults;
    this.#random = new SeededRandom(networkFaults.seed);
    this.service = new SimulatedRecordService(this.clock, service);
    const { capabilities } = this.candidate("probe").store;
    this.report = timing(options, capabilities);
    this.roundTripsInAttempt = capabilities.roundTrips ?? 2;
  }

  candidate(candidateId: string): PromisedCandidate {
    return new PromisedCandidate(this, candidateId, this.#options);
  }

  /** Half of a round trip. */
  legMs(attemptTimeoutMs: number): number {
    const longestMs = (attemptTimeoutMs / this.roundTripsInAttempt / 2) * 0.99;
    if (this.#networkFaults.slowness === "none") return 0;
    return this.#networkFaults.slowness === "anything" ? this.#random.next() * longestMs : longestMs;
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
        const { renewal, after } = this.#networkFaults;
        const unit = after.of === "trip" ? thereMs + backMs : this.report.renewIntervalMs;
        if (this.puts.length === renewal) {
          this.onRenewal(after.share * unit);
          if (this.loses === "request") return { arrivals: [] };
          if (this.loses === "reply") return { arrivals: [{ afterMs: thereMs }] };
        }
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

describe("the promises of timing", () => {
  test.prop([someOptions, anyService, anyWeather, fc.boolean()], SEEDED)(
    "an outage of outageToleratedMs never deposes a leader, at any start and with any error",
    async (options, service, networkFaults, refuses) => {
      const world = new PromisedWorld(options, service, networkFaults);
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
  );

  test.prop([someOptions, anyService, anyWeather, fraction(0, 3)], SEEDED)(
    "an outage of outageToleratedMs never deposes a leader that publishes, if an attempt fits the renew interval",
    async (options, service, networkFaults, publishesPerAttempt) => {
      const { attemptTimeoutMs, renewIntervalMs } = timing(options);
      fc.pre(attemptTimeoutMs <= renewIntervalMs);
      const world = new PromisedWorld(options, service, networkFaults);
      const leader = world.candidate("leader");
      const everyMs = attemptTimeoutMs / Math.max(publishesPerAttempt, 0.3);
      const publishing = (): void => {
        void leader.leadership?.publish("still here").catch(() => undefined);
        leader.process.setTimer(publishing, everyMs);
      };
      publishing();
      world.onRenewal = (befallsInMs) => {
        const fromMs = world.clock.monotonicMs() + befallsInMs;
        world.outage = { fromMs, untilMs: fromMs + world.report.outageToleratedMs, refuses: false };
      };
      leader.run();
      await world.clock.advance(6 * world.report.renewDeadlineMs);

      expect(leader.events.all("ending")).toEqual([]);
    },
  );

  test("an outage that is longer by a tenth of a round trip may depose a leader", async () => {
    const deposed: boolean[] = [];
    for (const longer of [0, 0.1]) {
      const networkFaults: NetworkFaults = {
        seed: 1,
        slowness: "always the slowest",
        renewal: 3,
        after: { of: "trip", share: 0.999 },
      };
      const world = new PromisedWorld({}, {}, networkFaults);
      const leader = world.candidate("leader");
      world.onRenewal = (befallsInMs) => {
        const fromMs = world.clock.monotonicMs() + befallsInMs;
        const { outageToleratedMs, attemptTimeoutMs } = world.report;
        world.outage = { fromMs, untilMs: fromMs + outageToleratedMs + (longer * attemptTimeoutMs) / 2, refuses: false };
      };
      leader.run();
      await world.clock.advance(60_000);
      deposed.push(leader.events.all("ending").length > 0);
    }

    expect(deposed).toEqual([false, true]);
  });

  test.prop([fc.integer({ min: 1_000, max: 60_000 }), anyService, anyWeather, fc.constantFrom("request", "reply")], SEEDED)(
    "by default one lost request never deposes a leader, at round trips below an attempt, or a third of it if reads do not count",
    async (leaseDurationMs, service, networkFaults, loses) => {
      const world = new PromisedWorld({ leaseDurationMs }, service, networkFaults);
      world.roundTripsInAttempt = service.showsUndurable ? 3 : 1;
      world.loses = loses;
      const leader = world.candidate("leader");
      leader.run();
      await world.clock.advance(5 * leaseDurationMs);

      expect(world.puts.length).toBeGreaterThan(networkFaults.renewal);
      expect(leader.events.all("ending")).toEqual([]);
    },
  );

  test.each(services)("the loss of every third reply never deposes a leader, on %j", async (service) => {
    const clock = new VirtualClock();
    const process = new ProcessClock(clock);
    let sent = 0;
    const network: Network = ({ operation }) => {
      if (operation !== "watch") sent += 1;
      return { arrivals: [{ afterMs: 20, ...(sent % 3 === 0 ? {} : { replyAfterMs: 20 }) }] };
    };
    const records = new SimulatedRecordService(clock, service).connect(process, network);
    const store = new RecordLeaseStore(records, { clock: process });
    const elector = new Elector({ store, election: ELECTION, clock: process, logger: false });
    const events = new EventLog(elector, process);
    const settled = elector.run(untilAborted);
    settled.catch(() => undefined);
    await clock.advance(3_600_000);

    expect(events.all("ending")).toEqual([]);
    expect(elector.isLeader).toBe(true);
  });

  test.prop([someOptions, anyService, anyWeather], SEEDED)(
    "a pause of pauseToleratedMs never deposes a leader, at any start",
    async (options, service, networkFaults) => {
      const world = new PromisedWorld(options, service, networkFaults);
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
  );

  test.prop([someOptions, anyService, anyWeather], SEEDED)(
    "a leader that crashes has a successor within crashFailoverMs of its last renewal",
    async (options, service, networkFaults) => {
      const world = new PromisedWorld(options, service, networkFaults);

      expect(await successionMs(world, (leader) => leader.process.kill())).toBeLessThanOrEqual(world.report.crashFailoverMs);
    },
  );

  test.prop([someOptions, anyService, anyWeather], SEEDED)(
    "a leader that stops has a successor within politeHandoverMs of its release",
    async (options, service, networkFaults) => {
      const world = new PromisedWorld(options, service, networkFaults);

      expect(await successionMs(world, (leader) => leader.stop())).toBeLessThanOrEqual(world.report.politeHandoverMs);
    },
  );

  test.prop([someOptions, anyService, anyWeather, fc.boolean()], SEEDED)(
    "a task whose lease cannot be renewed has timeToStopMs before its validity ends",
    async (options, service, networkFaults, refuses) => {
      const world = new PromisedWorld(options, service, networkFaults);
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
  );
});

/** Returns the time from the leader's last write until its standby leads. `meetEnd` ends the leader some time after a renewal. */
async function successionMs(world: PromisedWorld, meetEnd: (leader: PromisedCandidate) => void): Promise<number> {
  const leader = world.candidate("leader");
  const standby = world.candidate("standby");
  leader.run();
  while (!leader.leadership) await world.clock.step();
  standby.run();
  await world.clock.advance(world.report.leaseDurationMs);
  world.puts.length = 0;
  world.onRenewal = (befallsInMs) => void world.clock.setTimer(() => meetEnd(leader), befallsInMs);
  await world.clock.advance(10 * world.report.renewDeadlineMs + 2 * world.report.crashFailoverMs);
  const [succeededMs = Infinity] = standby.events.timesMs("startedLeading");
  expect((world.service.record(ELECTION) as LeaseRecord).candidateId).toBe("standby");
  return succeededMs - world.puts.at(-1)!.sentMs;
}
