import { Elector, type HeldLeadership } from "@leasehold/core";
import { RecordLeaseStore, type LeaseRecord, type RecordStore } from "@leasehold/core/provider";
import { ProcessClock, promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { Lines } from "./lines.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

test("an acquisition whose replies are all lost does not block its own candidate, even if the store wakes it for that write", async () => {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: true });
  const clock = new ProcessClock(world);
  const prompt = promptNetwork(10);
  let losesReplies: boolean | undefined;
  const network: Network = (request) => {
    if (request.operation === "put") losesReplies ??= true;
    return losesReplies && request.operation !== "watch" ? { arrivals: [{ afterMs: 10 }] } : prompt(request);
  };
  const store = new RecordLeaseStore(service.connect(clock, network), { clock });
  const elector = new Elector({ store, election: "nightly-billing", candidateId: "a", clock, leaseDurationMs: LEASE_MS });
  const stopping = new AbortController();
  elector.on("storeFailed", () => (losesReplies = false));
  let ledAfterMs: number | undefined;
  const startMs = world.monotonicMs();
  elector.on("startedLeading", () => (ledAfterMs = world.monotonicMs() - startMs));
  void elector.run(untilAborted, { signal: stopping.signal });
  await world.advance(2 * LEASE_MS);
  stopping.abort();

  expect(ledAfterMs).toBeLessThan(0.7 * LEASE_MS);
});

const ROUND_TRIP_MS = 10;
const HOUR_MS = 3_600_000;
const CROWD = 50;
const SEEDS = Array.from({ length: 201 }, (_, index) => index + 1);

interface Sent {
  readonly candidateId: string;
  readonly operation: string;
  readonly atMs: number;
}

/** A leader and its standbys, each in its own process, on a service that pushes. */
class PushedElection {
  readonly world: VirtualClock;
  readonly sent: Sent[] = [];
  readonly service: SimulatedRecordService;
  readonly leader: Campaigner;
  readonly standbys: readonly Campaigner[];

  constructor(seed: number, standbys: number) {
    this.world = new VirtualClock(seed);
    this.service = new SimulatedRecordService(this.world, {
      pushes: true,
      storeClock: { toleranceMs: 0, exact: true },
    });
    this.leader = this.#campaign("leader");
    this.standbys = Array.from({ length: standbys }, (_, index) => this.#campaign(`standby-${index}`));
  }

  /** Lets the leader lead and stop, until another one leads. Returns the time since the release was acknowledged. */
  async handOver(): Promise<number> {
    await this.world.advance(30_000 + this.world.random() * 5_000);
    const [leader] = [this.leader, ...this.standbys].filter(({ elector }) => elector.isLeader);
    this.sent.length = 0;
    leader!.stop();
    await this.world.runUntil(leader!.settled);
    const releasedMs = this.world.monotonicMs();
    const others = [this.leader, ...this.standbys].filter((campaigner) => campaigner !== leader);
    const startsMs: number[] = [];
    for (const { elector } of others) elector.on("startedLeading", () => startsMs.push(this.world.monotonicMs()));
    await this.world.advance(50 * ROUND_TRIP_MS);
    return startsMs[0]! - releasedMs;
  }

  async stop(): Promise<void> {
    const all = [this.leader, ...this.standbys];
    for (const { stop } of all) stop();
    await this.world.runUntil(Promise.all(all.map(({ settled }) => settled)));
  }

  #campaign(candidateId: string): Campaigner {
    const clock = new ProcessClock(this.world);
    const jitter = (): number => (ROUND_TRIP_MS / 2) * (0.8 + 0.4 * this.world.random());
    const network: Network = ({ operation }) => {
      this.sent.push({ candidateId, operation, atMs: this.world.monotonicMs() });
      return { arrivals: [{ afterMs: jitter(), replyAfterMs: jitter() }] };
    };
    const store = new RecordLeaseStore(this.service.connect(clock, network), { clock });
    const elector = new Elector({ store, election: "nightly-billing", candidateId, clock, leaseDurationMs: LEASE_MS });
    const stopping = new AbortController();
    const settled = elector.run(untilAborted, { signal: stopping.signal });
    return { elector, settled, stop: () => stopping.abort() };
  }
}

interface Campaigner {
  readonly elector: Elector;
  readonly settled: Promise<void>;
  readonly stop: () => void;
}

function median(samples: readonly number[]): number {
  return samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)]!;
}

describe("a release that wakes all standbys at once", () => {
  test.each([1, 2, CROWD])("is taken over within five round trips, in the median, by %d standbys", async (standbys) => {
    const tookMs: number[] = [];
    for (const seed of standbys === CROWD ? SEEDS.slice(0, 41) : SEEDS) {
      const election = new PushedElection(seed, standbys);
      tookMs.push(await election.handOver());
      await election.stop();
    }

    expect(median(tookMs)).toBeLessThanOrEqual(5 * ROUND_TRIP_MS);
  });

  test(`makes a handful of ${CROWD} standbys write, and each of them read twice`, async () => {
    const writes: number[] = [];
    const allReads: number[] = [];
    for (const seed of SEEDS.slice(0, 41)) {
      const election = new PushedElection(seed, CROWD);
      await election.handOver();
      const released = election.sent.findIndex(({ operation }) => operation === "put");
      const since = election.sent.slice(released + 1).filter(({ operation }) => operation !== "watch");
      const acquisitions = since.filter(
        ({ operation, atMs }) => operation === "put" && atMs < since[0]!.atMs + 7 * ROUND_TRIP_MS,
      );
      const reads = since.filter(({ operation }) => operation === "get");
      writes.push(acquisitions.length);
      allReads.push(reads.length);
      await election.stop();
    }

    expect(median(writes)).toBeLessThanOrEqual(5);
    // One read for the release, and one for the acquisition. A few polls also fall due.
    expect(median(allReads)).toBeLessThanOrEqual(2 * CROWD + 10);
  });

  test("is not delayed by wake-ups for a record that stays free", async () => {
    const election = new PushedElection(1, 1);
    await election.world.advance(30_000);
    const [leader] = [election.leader, ...election.standbys].filter(({ elector }) => elector.isLeader);
    const [standby] = [election.leader, ...election.standbys].filter((campaigner) => campaigner !== leader);
    leader!.stop();
    await election.world.advance(ROUND_TRIP_MS / 2 + 1);

    // An administrator writes the record repeatedly.
    for (let writes = 0; writes < 60; writes += 1) {
      const stored = election.service.get("nightly-billing")!;
      const record = stored.data as LeaseRecord;
      if (record.termId !== null) break;
      const fence = { term: record.term, termId: null };
      election.service.put("nightly-billing", record, { ifVersion: stored.version, keepsNonce: true, fence });
      await election.world.advance(ROUND_TRIP_MS / 10);
      if (standby!.elector.isLeader) break;
    }
    await election.world.advance(2_000);

    expect(standby!.elector.isLeader).toBe(true);
    await election.stop();
  });
});

test.each([
  ["is refused", () => Promise.reject(new Error("There is no stream to be had."))],
  ["says nothing", () => new Promise<never>(() => undefined)],
])("a push that is down, and then %s, is noticed: the standby finds a release within its retry period", async (_, again) => {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: true, storeClock: { toleranceMs: 0, exact: true } });
  const connect = (): { clock: ProcessClock; records: RecordStore } => {
    const clock = new ProcessClock(world);
    return { clock, records: service.connect(clock, promptNetwork(5)) };
  };
  const make = (candidateId: string, { clock, records }: ReturnType<typeof connect>): Elector =>
    new Elector({ store: new RecordLeaseStore(records, { clock }), election: "nightly-billing", candidateId, clock });
  const leading = make("leader", connect());
  const leadership = await world.runUntil(leading.campaign());
  const connection = connect();
  const down = Promise.withResolvers<never>();
  const streams = service.connect(connection.clock, promptNetwork(5));
  let watches = 0;
  // The stream breaks after its first push, and cannot be opened again.
  connection.records.watch = async function* (election, options) {
    watches += 1;
    if (watches > 1) await again();
    const stream = streams.watch!(election, options)[Symbol.asyncIterator]();
    for (;;) {
      const pushed = await Promise.race([stream.next(), down.promise]);
      if (pushed.done) return;
      yield pushed.value;
    }
  };
  const standby = make("standby", connection);
  const stopping = new AbortController();
  const running = standby.run(untilAborted, { signal: stopping.signal });
  await world.advance(2 * LEASE_MS);

  down.reject(new Error("The stream is down."));
  await world.advance(standby.timing.retryPeriodMs);
  await world.runUntil(leadership.release());
  await world.advance(standby.timing.retryPeriodMs + 100);

  expect(standby.isLeader).toBe(true);
  stopping.abort();
  await world.runUntil(running);
});

// A few turns of the microtask queue lie between the store's reply and the wait for a push.
test("a push that ends at any turn after a poll's reply is noticed", async () => {
  for (let turns = 0; turns < 40; turns += 1) {
    const world = new VirtualClock();
    const service = new SimulatedRecordService(world, { pushes: true });
    const leadership = await world.runUntil(leads(world, service));

    const clock = new ProcessClock(world);
    const records = service.connect(clock, promptNetwork(5));
    const down = Promise.withResolvers<never>();
    const get = records.get.bind(records);
    let looks = 0;
    records.get = async (election, options) => {
      const found = await get(election, options);
      looks += 1;
      void (async () => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        down.reject(new Error("The stream is down."));
      })();
      return found;
    };
    records.watch = async function* () {
      if (looks > 0) await new Promise(() => undefined);
      yield;
      await down.promise;
    };
    const standby = new Elector({ store: new RecordLeaseStore(records, { clock }), election: "nightly-billing" });
    const stopping = new AbortController();
    const running = standby.run(untilAborted, { signal: stopping.signal });
    while (looks === 0) await world.step();

    await world.runUntil(leadership.release());
    await world.advance(standby.timing.retryPeriodMs + 100);

    expect(standby.isLeader, `${turns} turns after the reply`).toBe(true);
    stopping.abort();
    await world.runUntil(running);
  }
});

test.each<[string, NonNullable<RecordStore["watch"]>]>([
  ["is refused", () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("There is no stream.")) }) })],
  [
    "ends after its first wake-up",
    async function* () {
      yield;
    },
  ],
])("a watch that %s, again and again, costs a standby no more than it may ask for anyway", async (_, watch) => {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: true });
  const leadership = await world.runUntil(leads(world, service));
  const clock = new ProcessClock(world);
  const records = service.connect(clock, promptNetwork(5));
  let watches = 0;
  records.watch = (election, options) => {
    watches += 1;
    return watch(election, options);
  };
  const retryPeriodMs = 10_000;
  const standby = new Elector({ store: new RecordLeaseStore(records, { clock }), election: "nightly-billing", retryPeriodMs });
  const stopping = new AbortController();
  const running = standby.run(untilAborted, { signal: stopping.signal });

  await world.advance(600_000);

  expect(watches).toBeLessThanOrEqual(600_000 / retryPeriodMs + 5);
  expect(watches).toBeGreaterThanOrEqual(600_000 / retryPeriodMs - 5);
  stopping.abort();
  await world.runUntil(running);
  await world.runUntil(leadership.release());
});

test.each([
  ["has failed", false],
  ["has failed, and whose watch never came about,", true],
])(
  "a standby whose poll %s polls again a renewal later and takes over in time, even with a long retry period",
  async (_, isBlind) => {
    const world = new VirtualClock();
    const service = new SimulatedRecordService(world, { pushes: true });
    const candidate = (candidateId: string, network: Network) => {
      const clock = new ProcessClock(world);
      const store = new RecordLeaseStore(service.connect(clock, network), { clock });
      return { clock, elector: new Elector({ store, election: "nightly-billing", candidateId, clock, retryPeriodMs: HOUR_MS }) };
    };
    const prompt = promptNetwork(5);
    const leader = candidate("leader", prompt);
    await world.runUntil(leader.elector.campaign());
    let breaks = false;
    const refused = { arrivals: [], breaks: { afterMs: 5, error: new Error("refused") } };
    const { elector } = candidate("standby", (request) => {
      if (request.operation === "watch" && isBlind) return { arrivals: [] };
      return breaks && request.operation === "get" ? refused : prompt(request);
    });
    let failures = 0;
    elector.on("storeFailed", () => (failures += 1));
    void elector.campaign();
    await world.advance(LEASE_MS);
    breaks = true;
    await world.advance(elector.timing.renewIntervalMs);
    breaks = false;
    await world.advance(elector.timing.renewIntervalMs);
    leader.clock.kill();
    await world.advance(elector.timing.crashFailoverMs);

    expect(failures).toBeGreaterThan(0);
    expect(elector.isLeader).toBe(true);
  },
);

test("a silent watch hides a release for a renewal at most, and is reported once", async () => {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: true });
  const prompt = promptNetwork(5);
  const candidates = ["a", "b"].map((candidateId) => {
    const clock = new ProcessClock(world);
    // As behind a pooler: the watch starts, but no notification arrives.
    const network: Network = (request) => (request.operation === "watch" && !request.begins ? { arrivals: [] } : prompt(request));
    const store = new RecordLeaseStore(service.connect(clock, network), { clock });
    const logger = new Lines();
    return { elector: new Elector({ store, election: "nightly-billing", candidateId, clock, logger }), logger };
  });
  const stopping = new AbortController();
  const runs = candidates.map(({ elector }) => elector.run(untilAborted, { signal: stopping.signal }));
  await world.advance(2 * LEASE_MS);
  for (let turns = 0; turns < 8; turns += 1) {
    const leader = candidates.find(({ elector }) => elector.isLeader)!;
    const other = candidates.find((one) => one !== leader)!;
    await world.runUntil(leader.elector.resign());
    const { politeHandoverMs, renewIntervalMs } = other.elector.timing;
    await world.advance(politeHandoverMs + renewIntervalMs);
    expect(other.elector.isLeader).toBe(true);
    await world.advance(LEASE_MS);
  }
  stopping.abort();
  await world.runUntil(Promise.all(runs));

  for (const { logger } of candidates) {
    expect(logger.warnings.filter((line) => line.includes("does not push"))).toHaveLength(1);
  }
});

/** Makes another process lead. */
async function leads(world: VirtualClock, service: SimulatedRecordService): Promise<HeldLeadership> {
  const clock = new ProcessClock(world);
  const store = new RecordLeaseStore(service.connect(clock, promptNetwork(5)), { clock });
  return await new Elector({ store, election: "nightly-billing", candidateId: "leader" }).campaign();
}
