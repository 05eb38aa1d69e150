import { fc, test } from "@fast-check/vitest";
import { holderElapsedMs, RecordLeaseStore, type Instant, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { RecordService, type Fault, type FaultyRecordStore } from "./faulty-record-store.ts";

const NAMES = ["a", "b", "c"] as const;

const candidate = fc.nat(NAMES.length - 1);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom<Fault>(
    { kind: "lost" },
    { kind: "unanswered" },
    { kind: "unavailable" },
    { kind: "reset", applied: true },
    { kind: "reset", applied: false },
  ),
  fc.record({ kind: fc.constant("late" as const), byMs: fc.nat(30_000) }),
  fc.record({ kind: fc.constant("slow" as const), latencyMs: fc.nat(3_000) }),
);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("call"),
      call: fc.constantFrom<Call>("acquire", "renew", "release", "read"),
      candidate,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.oneof(fc.nat(2_000), fc.nat(LEASE_MS)) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fail"), candidate, operation: fc.constantFrom("get", "put"), fault }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("call"), call: fc.constantFrom<Call>("break", "transfer"), candidate }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("jump"), ms: fc.integer({ min: -3_600_000, max: 3_600_000 }) }) },
) as fc.Arbitrary<Step>;

type Call = "acquire" | "renew" | "release" | "read" | "break" | "transfer";

type Step =
  | { readonly do: "call"; readonly call: Call; readonly candidate: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "jump"; readonly ms: number }
  | { readonly do: "fail"; readonly candidate: number; readonly operation: "get" | "put"; readonly fault: Fault };

/** A candidate without an elector. It executes one call at a time, and remembers how long it may count itself leader. */
class Contestant {
  readonly records: FaultyRecordStore;
  readonly #store: RecordLeaseStore;
  readonly #name: string;
  readonly #clock: VirtualClock;
  readonly #won: Lease[];
  #lease: Lease | undefined;
  #grantedAt: Instant | undefined;
  #busy = false;

  constructor(name: string, service: RecordService, clock: VirtualClock, won: Lease[]) {
    this.#name = name;
    this.#clock = clock;
    this.#won = won;
    this.records = service.connect(name, { latencyMs: 20 });
    this.#store = new RecordLeaseStore(this.records, { clock });
  }

  /** Reports whether it may count itself leader. A holder counts from before the send, until `validUntil`. */
  get valid(): boolean {
    return this.#grantedAt !== undefined && holderElapsedMs(this.#clock, this.#grantedAt) < LEASE_MS * 0.9;
  }

  /** Starts a call, unless an earlier one is still under way. */
  start(what: Call): void {
    if (this.#busy) return;
    this.#busy = true;
    void this.#call(what)
      .catch(() => undefined)
      .finally(() => (this.#busy = false));
  }

  async #call(what: Call): Promise<void> {
    if (what === "read") await this.#store.read(ELECTION);
    else if (what === "break") await this.#store.break(ELECTION, { reason: "test" });
    else if (what === "transfer") await this.#store.transfer(ELECTION, this.#name, { transferTimeoutMs: 5_000 });
    else if (what === "acquire") await this.#acquire();
    else if (this.#lease) await (what === "renew" ? this.#renew(this.#lease) : this.#release(this.#lease));
  }

  async #acquire(): Promise<void> {
    if (this.valid) return;
    this.#lease = undefined;
    this.#grantedAt = undefined;
    const outcome = await this.#store.acquire(acquiring({ candidateId: this.#name }));
    if (!outcome.acquired) return;
    this.#lease = outcome.lease;
    this.#grantedAt = outcome.lease.grantedAt;
    this.#won.push(outcome.lease);
  }

  async #renew(lease: Lease): Promise<void> {
    if (!this.valid) return;
    const outcome = await this.#store.renew(lease, LIMITS);
    if (!outcome.held) this.#grantedAt = undefined;
    // A success after the end of validity proves nothing about the time between.
    else if (this.valid && outcome.extendedAt) this.#grantedAt = outcome.extendedAt;
  }

  async #release(lease: Lease): Promise<void> {
    const { valid } = this;
    this.#grantedAt = undefined;
    this.#lease = undefined;
    if (valid) await this.#store.release(lease, LIMITS);
  }
}

describe("any sequence of calls, faults and clocks", () => {
  test.prop([fc.array(step, { minLength: 20, maxLength: 120 })], { seed: 20_261_120, numRuns: 400 })(
    "keeps terms rising, never deletes the record, and lets at most one candidate count itself leader",
    async (steps) => {
      const clock = new VirtualClock();
      const service = new RecordService(clock);
      const won: Lease[] = [];
      const contestants = NAMES.map((name) => new Contestant(name, service, clock, won));
      let highest = 0;
      const check = (): void => {
        const record = service.record(ELECTION);
        expect(record?.term ?? 0).toBeGreaterThanOrEqual(highest);
        highest = record?.term ?? 0;
        expect(contestants.filter(({ valid }) => valid).length).toBeLessThanOrEqual(1);
      };

      for (const next of steps) {
        if (next.do === "wait") {
          for (let leftMs = next.ms; leftMs > 0; leftMs -= 250) {
            await clock.advance(Math.min(leftMs, 250));
            check();
          }
        } else if (next.do === "jump") {
          clock.jumpWall(next.ms);
        } else if (next.do === "fail") {
          contestants[next.candidate]!.records.failNext(next.operation, next.fault);
        } else {
          contestants[next.candidate]!.start(next.call);
        }
        await clock.settle();
        check();
      }

      const terms = won.map(({ term }) => term);
      expect(terms).toEqual(terms.toSorted((one, other) => one - other));
      expect(new Set(terms).size).toBe(terms.length);
      expect(new Set(won.map(({ termId }) => termId)).size).toBe(won.length);
    },
    60_000,
  );
});
