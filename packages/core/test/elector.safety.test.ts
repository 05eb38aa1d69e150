import type { Leadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, type Candidate, type CandidateOptions, type Run } from "./election-world.ts";
import type { Fault } from "./faulty-record-store.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { ProcessClock } from "@leasehold/core/testing";

// The simulation runs many more.
const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);
const ADVERSITIES = 150;
const HOUR_MS = 3_600_000;

interface Entrant {
  readonly candidate: Candidate;
  readonly process: ProcessClock;
  run: Run;
}

/** Candidates with different clocks, and all faults that can affect them. */
class Adversity {
  readonly world: ElectionWorld;
  readonly candidates: Entrant[];
  readonly terms: number[] = [];

  constructor(seed: number) {
    this.world = new ElectionWorld(seed);
    this.candidates = ["a", "b", "c", "d"].map((name) => {
      const process = new ProcessClock(this.world.clock, { rate: 0.97 + this.#below(0.06), wallOffsetMs: this.#below(HOUR_MS) });
      return this.#enter(name, process, { clock: process, latencyMs: 5 + this.#below(200) });
    });
    // Two candidates of one process share a store and its memory.
    const [first] = this.candidates;
    this.candidates.push(this.#enter("beside a", first!.process, { beside: first!.candidate }));
  }

  /** Injects a random fault into a random candidate. */
  strike(): void {
    const victim = this.#pick(this.candidates);
    const { candidate, process } = victim;
    this.#pick<() => void>([
      () => candidate.records.failNext(this.#pick(["get", "put"]), this.#fault(), this.#fault()),
      () => candidate.records.failNext("put", this.#fault()),
      () => candidate.records.failAll(this.#fault()),
      () => candidate.records.heal(),
      () => candidate.records.heal(),
      () => process.pause(),
      () => process.resume(),
      () => process.resume(),
      () => process.jumpWall(this.#below(2 * HOUR_MS) - HOUR_MS),
      () => void candidate.elector.resign(),
      () => void candidate.store.break(ELECTION, { reason: "test" }).catch(() => undefined),
      () =>
        void candidate.store
          .transfer(ELECTION, this.#pick(["a", "b", "c", "d"]), { transferTimeoutMs: 5_000 })
          .catch(() => undefined),
      () => this.#restart(victim),
    ])();
  }

  /** Lets up to a few seconds pass, and checks all candidates meanwhile. */
  async endure(): Promise<void> {
    for (let looks = 0; looks < 8; looks += 1) {
      await this.world.clock.advance(this.#below(700));
      const valid = this.candidates
        .filter(({ candidate }) => candidate.elector.isLeader)
        .map(({ candidate }) => candidate.elector.candidateId);
      expect(valid.length, `valid at once: ${valid.join(", ")}`).toBeLessThanOrEqual(1);
    }
  }

  async recover(): Promise<void> {
    for (const { candidate, process } of this.candidates) {
      candidate.records.heal();
      process.resume();
    }
    await this.world.clock.advance(6 * LEASE_MS);
  }

  async stop(): Promise<void> {
    for (const { run } of this.candidates) run.stop();
    await this.world.clock.runUntil(Promise.allSettled(this.candidates.map(({ run }) => run.settled)));
  }

  /** Works until its signal aborts, then takes a while to settle: sometimes longer than it may. */
  readonly #task = async (leadership: Leadership): Promise<void> => {
    this.terms.push(leadership.term);
    await untilAborted(leadership);
    await sleep(this.world.clock, this.#below(1) < 0.1 ? this.#below(2 * LEASE_MS) : this.#below(1_000));
  };

  #enter(name: string, process: ProcessClock, options: CandidateOptions): Entrant {
    const candidate = this.world.candidate(name, { ...options, cooldownMs: 0 });
    return { candidate, process, run: candidate.run(this.#task) };
  }

  #restart(victim: Entrant): void {
    victim.run.stop();
    void victim.run.settled
      .catch(() => undefined)
      .then(() => {
        victim.run = victim.candidate.run(this.#task);
      });
  }

  #fault(): Fault {
    return this.#pick<Fault>([
      { kind: "lost" },
      { kind: "unanswered" },
      { kind: "unavailable" },
      { kind: "reset", applied: true },
      { kind: "reset", applied: false },
      { kind: "throttled", retryAfterMs: this.#below(5_000) },
      { kind: "late", byMs: this.#below(3 * LEASE_MS) },
      { kind: "slow", latencyMs: this.#below(4_000) },
    ]);
  }

  #below(limit: number): number {
    return this.world.clock.random() * limit;
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#below(choices.length))]!;
  }
}

describe("whatever befalls the candidates", () => {
  test.each(SEEDS)(
    "at most one is valid at any moment, terms only rise, and in the end exactly one leads (seed %d)",
    async (seed) => {
      const adversity = new Adversity(seed);
      for (let strikes = 0; strikes < ADVERSITIES; strikes += 1) {
        adversity.strike();
        await adversity.endure();
      }

      await adversity.recover();

      expect(adversity.candidates.filter(({ candidate }) => candidate.elector.isLeader)).toHaveLength(1);
      expect(adversity.terms).toEqual(adversity.terms.toSorted((one, other) => one - other));
      expect(new Set(adversity.terms).size).toBe(adversity.terms.length);
      expect(adversity.terms.length).toBeGreaterThan(1);
      await adversity.stop();
    },
    30_000,
  );
});
