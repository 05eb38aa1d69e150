import { Elector, type Leadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock, type Passage } from "@leasehold/core/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { SimulatedService, warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { ELECTION } from "@leasehold/test-kit/acquisitions";

beforeAll(warmUp);

/** The time of a transaction at DynamoDB. */
const TRANSACTION_MS = 10;
/** The time of eight renewals. */
const STREAMED_MS = 40_000;

/**
 * Candidates whose leader sends guarded transactions without a pause, in several streams at once, even after its signal has
 * aborted.
 */
class StreamingWorld {
  readonly clock = new VirtualClock(20_261_124);
  readonly service = new SimulatedService(this.clock);
  readonly #streams: number;
  /** The candidates that have led. */
  readonly leaders: string[] = [];
  /** The results of each candidate's transactions. */
  readonly outcomes: Record<string, Record<ReturnType<SimulatedService["transact"]>, number>> = {};
  /** Candidates whose requests are lost. Their transactions still arrive. */
  readonly cutOff = new Set<string>();

  constructor(streams: number) {
    this.#streams = streams;
  }

  candidate(candidateId: string): Elector {
    const clock = new ProcessClock(this.clock);
    const network = (): Passage => ({
      arrivals: this.cutOff.has(candidateId) ? [] : [{ afterMs: this.#latencyMs(), replyAfterMs: this.#latencyMs() }],
    });
    const store = this.service.store(clock, { network, hostOffsetMs: () => 0 });
    const elector = new Elector({ store, election: ELECTION, candidateId, clock });
    void elector.run(async (leadership) => {
      this.leaders.push(candidateId);
      const { ConditionCheck } = store.fence(leadership);
      await Promise.all(Array.from({ length: this.#streams }, () => this.#stream(leadership, ConditionCheck as never)));
    });
    return elector;
  }

  async #stream({ candidateId }: Leadership, check: Parameters<SimulatedService["transact"]>[0]): Promise<never> {
    const outcomes = this.outcomes[candidateId] ?? { None: 0, TransactionConflict: 0, ConditionalCheckFailed: 0 };
    this.outcomes[candidateId] = outcomes;
    for (;;) {
      await sleep(this.clock, this.#latencyMs());
      const outcome = this.service.transact(check, TRANSACTION_MS);
      outcomes[outcome] += 1;
      await sleep(this.clock, this.#latencyMs() + (outcome === "None" ? TRANSACTION_MS : 0));
    }
  }

  #latencyMs(): number {
    return 1 + this.clock.random() * 3;
  }
}

describe.each([1, 4, 16])("guarded transactions in %d streams at once", (streams) => {
  test("do not cost their leader the lease, and pass", async () => {
    const world = new StreamingWorld(streams);
    const elector = world.candidate("a");
    await world.clock.advance(STREAMED_MS);
    expect(world.leaders).toEqual(["a"]);
    expect(elector.isLeader).toBe(true);
    // One transaction passes at a time, plus the time until the next one arrives.
    expect(world.outcomes["a"]?.None).toBeGreaterThan(STREAMED_MS / (TRANSACTION_MS + 8));
  });

  test("do not keep out a successor, which closes their fence", async () => {
    const world = new StreamingWorld(streams);
    world.candidate("a");
    await world.clock.advance(1_000);
    const successor = world.candidate("b");
    await world.clock.advance(9_000);
    expect(world.leaders).toEqual(["a"]);

    world.cutOff.add("a");
    await world.clock.advance(successor.timing.crashFailoverMs);
    expect(world.leaders).toEqual(["a", "b"]);
    const passed = world.outcomes["a"]?.None;
    await world.clock.advance(10_000);
    expect(world.outcomes["a"]?.None).toBe(passed);
    expect(world.outcomes["b"]?.None).toBeGreaterThan(0);
  });
});
