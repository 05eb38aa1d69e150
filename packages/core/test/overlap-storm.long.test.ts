import { oncePerOccurrence, type ClaimedLeadership, type OccurrenceOutcome } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { Overlap } from "@leasehold/core/occurrences";
import { SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { Host, occurrenceService } from "./host.ts";

const TICKS = 12;
const PERIOD_MS = 20_000;
const HOSTS = 4;
const RUNS = 25;

type Outcome = OccurrenceOutcome<number> | { readonly ran: false; readonly reason: "failed" };

interface Storm {
  /** The outcomes of each tick, on hosts that lived long enough to get one. */
  readonly outcomes: ReadonlyMap<number, readonly Outcome[]>;
  /** The ticks whose task ended. One that was recorded is not in it twice. */
  readonly ended: readonly number[];
  readonly atOnce: number;
  /** The ticks without an outcome, although a host that lives on has not told its caller of an error. */
  readonly lost: readonly number[];
}

/**
 * Four hosts whose clocks differ by up to 10 s get each tick, some of them twice. Tasks take up to two periods, and some fail
 * at first. Two hosts are killed at a random time. Requests and replies are lost, and each wall clock jumps once.
 */
async function storm(seed: number, overlap: Overlap, tries?: number): Promise<Storm> {
  const random = new SeededRandom(seed);
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const world = new VirtualClock();
  const service = occurrenceService(world);
  const startMs = world.wallMs() + PERIOD_MS;
  const outcomes = new Map<number, Outcome[]>();
  const rejecting = new Map<number, Set<Host>>();
  const ended: number[] = [];
  const running = new Map<object, Host>();
  const dead = new Set<Host>();
  let atOnce = 0;

  async function work(host: Host, tick: number, { signal, term }: ClaimedLeadership): Promise<number> {
    const run = {};
    running.set(run, host);
    atOnce = Math.max(atOnce, [...running.values()].filter((one) => !dead.has(one)).length);
    // Without tries each host tries a tick once, so a tick may fail once only.
    const fails = tries === undefined ? term === 1 && random.chance(0.1) : random.chance(0.4);
    await sleep(host.clock, below(2 * PERIOD_MS), signal).finally(() => running.delete(run));
    if (fails) throw new Error("disk full");
    ended.push(tick);
    return tick;
  }

  async function deliver(host: Host, tick: number, lateMs: number): Promise<void> {
    const scheduledAt = startMs + tick * PERIOD_MS;
    await sleep(host.clock, Math.max(scheduledAt - host.clock.wallMs(), 0) + lateMs);
    const options = {
      store: host.store,
      name: "nightly",
      scheduledAt,
      overlap,
      tries,
      whenInProgress: "wait",
      logger: false,
    } as const;
    const outcome = await oncePerOccurrence(options, async (leadership) => await work(host, tick, leadership)).catch(
      (error: unknown) => {
        const isFailure = tries !== undefined && (error as Error).message === "disk full";
        if (isFailure) return { ran: false, reason: "failed" } as const;
        rejecting.set(tick, (rejecting.get(tick) ?? new Set()).add(host));
        return undefined;
      },
    );
    if (outcome) outcomes.set(tick, [...(outcomes.get(tick) ?? []), outcome]);
  }

  const hosts = Array.from({ length: HOSTS }, () => new Host(world, service, { wallOffsetMs: below(20_000) - 10_000 }));
  const deliveries = hosts.map(async (host) => {
    const ticks = Array.from({ length: TICKS }, (_, tick) => tick);
    const again = ticks.filter(() => random.chance(0.2));
    await Promise.all([
      ...ticks.map((tick) => deliver(host, tick, 0)),
      ...again.map((tick) => deliver(host, tick, below(30_000))),
    ]);
  });
  for (const host of hosts) {
    host.network = () => {
      const afterMs = 1 + below(50);
      // The request is lost, or its reply, or it arrives again later.
      if (random.chance(0.02)) return { arrivals: [] };
      if (random.chance(0.02)) return { arrivals: [{ afterMs }] };
      const again = random.chance(0.02) ? [{ afterMs: below(10_000) }] : [];
      return { arrivals: [{ afterMs, replyAfterMs: afterMs }, ...again] };
    };
    world.setTimer(() => host.clock.jumpWall(below(60_000) - 30_000), below(TICKS * PERIOD_MS));
  }
  for (const host of hosts.slice(2)) {
    world.setTimer(
      () => {
        dead.add(host);
        host.clock.kill();
      },
      below(TICKS * PERIOD_MS),
    );
  }
  const alive = hosts.slice(0, 2);
  await world.runUntil(Promise.all(deliveries.slice(0, 2)));
  const lost = Array.from({ length: TICKS }, (_, tick) => tick).filter(
    (tick) => !outcomes.has(tick) && !alive.every((host) => rejecting.get(tick)?.has(host)),
  );
  return { outcomes, ended, atOnce, lost };
}

/** Returns the different decisions of a tick. A call that finds it done or failed has not decided. One that finds it skipped says why. */
function decisionsOf(outcomes: readonly Outcome[]): string[] {
  const decisions = outcomes.flatMap((outcome) => {
    if (outcome.ran) return [`ran in attempt ${outcome.attempt}`];
    return outcome.reason === "done" || "failure" in outcome ? [] : [outcome.reason];
  });
  return [...new Set(decisions)];
}

describe.each(["skip", "bufferOne", "cancelOther"] as const)(
  "%s, in storms of killed hosts, duplicates, lost messages and clocks that differ and jump:",
  (overlap) => {
    test("no two tasks run at the same time, and each tick is decided once and for all hosts", async () => {
      const reasons = new Map<string, number>();
      for (let seed = 1; seed <= RUNS; seed += 1) {
        const { outcomes, ended, atOnce, lost } = await storm(seed, overlap);
        expect(atOnce, `seed ${seed}`).toBe(1);
        expect(lost, `seed ${seed}`).toEqual([]);
        for (const [tick, all] of outcomes) {
          const decided = decisionsOf(all);
          // A host that was killed may have decided.
          expect(decided.length, `seed ${seed}, tick ${tick}`).toBeLessThanOrEqual(1);
          expect(ended.filter((one) => one === tick).length, `seed ${seed}, tick ${tick}`).toBeLessThanOrEqual(1);
          expect(all.filter(({ ran }) => ran).length, `seed ${seed}, tick ${tick}`).toBeLessThanOrEqual(1);
          for (const [reason = ""] of decided.map((decision) => decision.split(" "))) {
            if (reason === "ran") expect(ended).toContain(tick);
            reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
          }
        }
      }
      // The storms reach what the policy is for.
      expect(reasons.get("ran")).toBeGreaterThan(RUNS);
      expect(reasons.get(overlap === "cancelOther" ? "cancelled" : "overlap")).toBeGreaterThan(RUNS);
      expect([...reasons.keys()].every((reason) => ["ran", "overlap", "cancelled"].includes(reason))).toBe(true);
    });

    test("with tries each tick is done, decided or failed once and for all hosts", async () => {
      let failures = 0;
      for (let seed = 1; seed <= RUNS; seed += 1) {
        const { outcomes, ended, atOnce, lost } = await storm(seed, overlap, 2);
        expect(atOnce, `seed ${seed}`).toBe(1);
        expect(lost, `seed ${seed}`).toEqual([]);
        for (const [tick, all] of outcomes) {
          const decided = decisionsOf(all);
          const hasFailed = decided.includes("failed");
          failures += hasFailed ? 1 : 0;
          expect(decided.length, `seed ${seed}, tick ${tick}`).toBeLessThanOrEqual(1);
          expect(ended.filter((one) => one === tick).length, `seed ${seed}, tick ${tick}`).toBeLessThanOrEqual(hasFailed ? 0 : 1);
        }
      }
      expect(failures).toBeGreaterThan(RUNS / 5);
    });
  },
);
