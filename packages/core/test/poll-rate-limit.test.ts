import { Elector, Observer, timing } from "@leasehold/core";
import { fenceOfRecord, RecordLeaseStore, type LeaseRecord } from "@leasehold/core/provider";
import { ProcessClock, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { PollRateLimit } from "../src/election/poll-timer.ts";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { PROOFS } from "./election-world.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const SEEDED = { seed: 20_261_122, numRuns: 40 };
const HOUR_MS = 3_600_000;
const LATENCY_MS = 5;
/** The number of polls that may follow one another at once. */
const BURST = 10;

/** The data that another candidate publishes, and how often it writes. Some writes keep the term, some start a new one. */
interface Foreign {
  readonly renewIntervalMs: number;
  readonly leaseDurationMs: number;
  readonly everyMs: number;
  readonly newTerms: boolean;
  readonly held: boolean;
}

interface Own {
  readonly retryPeriodMs: number;
  readonly renewIntervalMs: number;
}

const foreign: fc.Arbitrary<Foreign> = fc.record({
  renewIntervalMs: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 60_000 }), fc.constantFrom(1e-9, 1e9)),
  leaseDurationMs: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 120_000 }), fc.constantFrom(1e-9, 1e9)),
  everyMs: fc.oneof(fc.integer({ min: 20, max: 500 }), fc.integer({ min: 500, max: 20_000 })),
  newTerms: fc.boolean(),
  held: fc.boolean(),
});
const own: fc.Arbitrary<Own> = fc.record({
  retryPeriodMs: fc.integer({ min: 200, max: 10_000 }),
  renewIntervalMs: fc.integer({ min: 200, max: 5_000 }),
});

/** The polls that a holder with these options would cause, and one more for each of its renewals. */
function allowed({ retryPeriodMs, renewIntervalMs }: Own, ms: number): number {
  const perRenewal = Math.ceil(renewIntervalMs / retryPeriodMs) + 1;
  return (ms / renewIntervalMs) * perRenewal + BURST;
}

/** A process that counts its requests, beside a foreign candidate that writes arbitrary records. */
class Neighbourhood {
  readonly world = new VirtualClock();
  readonly process: ProcessClock = new ProcessClock(this.world);
  readonly store: RecordLeaseStore;
  sent = 0;
  readonly #service: SimulatedRecordService;
  #written = 0;

  constructor(pushes?: boolean) {
    this.#service = new SimulatedRecordService(this.world, { pushes });
    const network: Network = ({ operation }) => {
      if (operation !== "watch") this.sent += 1;
      return { arrivals: [{ afterMs: LATENCY_MS, replyAfterMs: LATENCY_MS }] };
    };
    this.store = new RecordLeaseStore(this.#service.connect(this.process, network), { clock: this.process });
  }

  /** The foreign candidate keeps all others out: it holds the lease, or the lease is reserved for it by a transfer. */
  write({ renewIntervalMs, leaseDurationMs, newTerms, held }: Foreign): void {
    this.#written += 1;
    const term = newTerms ? this.#written : 1;
    const record: LeaseRecord = {
      schema: 3,
      term,
      termId: held ? `t${term}` : null,
      candidateId: "stranger",
      nonce: `n${this.#written}`,
      leaseDurationMs,
      renewIntervalMs,
      bars: [{ untilMs: 1e9, except: { candidateId: "stranger" }, id: "order" }],
    };
    const ifVersion = this.#service.get(ELECTION)?.version;
    this.#service.put(ELECTION, record, { ifVersion, keepsNonce: false, fence: fenceOfRecord(record) });
  }

  async endure(what: Foreign, ms: number): Promise<void> {
    const untilMs = this.world.monotonicMs() + ms;
    while (this.world.monotonicMs() < untilMs) {
      this.write(what);
      await this.world.advance(what.everyMs);
    }
  }
}

describe("whatever others publish, no more requests are sent than the own options allow", () => {
  const MINUTES_MS = 300_000;

  test.prop([foreign, own, fc.boolean()], SEEDED)(
    "by a standby",
    async (published, options, pushes) => {
      const there = new Neighbourhood(pushes);
      there.write(published);
      const elector = new Elector({
        ...options,
        leaseDurationMs: 15_000,
        store: there.store,
        election: ELECTION,
        clock: there.process,
      });
      const stopping = new AbortController();
      const running = elector.run(untilAborted, { signal: stopping.signal });

      await there.endure(published, MINUTES_MS);

      stopping.abort();
      await there.world.runUntil(running);
      // A read that confirms is sent before its time, and the next poll waits longer.
      const confirming = 1;
      expect(there.sent).toBeLessThanOrEqual(allowed(options, MINUTES_MS + published.everyMs) + PROOFS + confirming);
    },
    60_000,
  );

  test.prop([foreign, fc.integer({ min: 200, max: 10_000 })], SEEDED)(
    "by an observer, which has no renewals of its own",
    async (published, retryPeriodMs) => {
      const there = new Neighbourhood();
      there.write(published);
      const observer = new Observer({ store: there.store, election: ELECTION, retryPeriodMs, clock: there.process });
      const stopping = new AbortController();
      const observing = (async () => {
        for await (const _ of observer.observe(stopping)) continue;
      })();

      await there.endure(published, MINUTES_MS);

      stopping.abort();
      await there.world.runUntil(observing);
      const renewIntervalMs = retryPeriodMs;
      expect(there.sent).toBeLessThanOrEqual(allowed({ retryPeriodMs, renewIntervalMs }, MINUTES_MS + published.everyMs));
    },
    60_000,
  );

  test("a holder that renews every 50 ms costs a standby with a long retry period two polls per own renewIntervalMs at most", async () => {
    const there = new Neighbourhood();
    const published = { renewIntervalMs: 50, leaseDurationMs: 15_000, everyMs: 50, newTerms: false, held: true };
    there.write(published);
    const retryPeriodMs = 10_000;
    const elector = new Elector({ store: there.store, election: ELECTION, clock: there.process, retryPeriodMs });
    const stopping = new AbortController();
    const running = elector.run(untilAborted, { signal: stopping.signal });

    await there.endure(published, HOUR_MS / 6);

    stopping.abort();
    await there.world.runUntil(running);
    expect(there.sent).toBeLessThanOrEqual(1_440 / 6 + BURST);
  });
});

describe("the pace of polls", () => {
  test.prop([own, fc.array(fc.nat(3_000), { minLength: 50, maxLength: 200 })], SEEDED)(
    "is kept by a caller that waits for waitMs, which is never longer than a retry period",
    (options, wantedMs) => {
      const clock = new VirtualClock();
      const pace = new PollRateLimit(clock, options);
      const startMs = clock.monotonicMs();
      let looks = 0;
      for (const ms of wantedMs) {
        const { waitMs } = pace;
        expect(waitMs).toBeLessThanOrEqual(options.retryPeriodMs);
        clock.freeze(Math.max(ms, waitMs));
        pace.spend();
        looks += 1;
        expect(looks).toBeLessThanOrEqual(allowed(options, clock.monotonicMs() - startMs) + 1);
      }
    },
  );

  test("does not delay the polls that follow one another quickly after a quiet time", () => {
    const clock = new VirtualClock();
    const pace = new PollRateLimit(clock, { retryPeriodMs: 2_000, renewIntervalMs: 5_000 });
    clock.freeze(60_000);
    for (let looks = 0; looks < BURST; looks += 1) {
      expect(pace.waitMs).toBe(0);
      pace.spend();
    }

    expect(pace.waitMs).toBe(5_000 / 4);
  });
});

test.prop([fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: 45_000, max: 65_000 })], SEEDED)(
  "a standby whose polls are at the limit succeeds a leader that releases within politeHandoverMs",
  async (seed, afterMs) => {
    const world = new VirtualClock(seed);
    const service = new SimulatedRecordService(world);
    const electorOn = (options: Partial<ConstructorParameters<typeof Elector>[0]>): Elector => {
      const clock = new ProcessClock(world);
      const network: Network = () => ({
        arrivals: [{ afterMs: 15 * world.random(), replyAfterMs: 15 * world.random() }],
      });
      return new Elector({
        store: new RecordLeaseStore(service.connect(clock, network), { clock }),
        election: ELECTION,
        clock,
        ...options,
      });
    };
    // Its renewals are 2,500 ms apart. A standby polls twice in this time, which its own options do not allow for long.
    const leader = electorOn({ leaseDurationMs: 7_500, retryPeriodMs: 2_250 });
    const leadership = await world.runUntil(leader.campaign());
    const options = { leaseDurationMs: 30_000, retryPeriodMs: 2_250, attemptTimeoutMs: 70 };
    const standby = electorOn(options);
    const succeeding = standby.campaign();
    await world.advance(afterMs);
    await world.runUntil(leadership!.release());
    const releasedMs = world.monotonicMs();

    await world.runUntil(succeeding);
    expect(world.monotonicMs() - releasedMs).toBeLessThanOrEqual(timing(options).politeHandoverMs);
  },
);
