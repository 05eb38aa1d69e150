import { isLeaseholdError } from "@leasehold/core";
import { isoOf, RecordLeaseStore, RecordOccurrenceStore, sleep } from "@leasehold/core/provider";
import { occurrencesOf, type Completion, type Overlap } from "@leasehold/core/occurrences";
import {
  ProcessClock,
  promptNetwork,
  SeededRandom,
  SimulatedRecordService,
  VirtualClock,
  type Network,
} from "@leasehold/core/testing";
import { onlyAsLeader, type FunctionLeadership, type NotElected } from "@leasehold/functions";
import { describe, expect, test } from "vitest";

const TICKS = 10;
const PERIOD_MS = 60_000;
const TIMEOUT_MS = 90_000;
const MOST_DELIVERIES = 8;
const STORMS = 15;

interface Policies {
  readonly overlap: Overlap;
  readonly tries?: number;
  readonly catchUp?: { readonly atMost: number; readonly since: string; readonly previous: (ms: number) => number };
}

interface Storm {
  readonly atOnce: number;
  /** The number of handlers that have ended well, by tick. */
  readonly worked: readonly number[];
  /** The end of each tick, as the store has recorded it. */
  readonly ends: ReadonlyArray<keyof Completion | "done" | "open">;
  readonly surprises: readonly unknown[];
}

/**
 * Two regions get each tick, and an invocation that fails or dies is delivered again. Each invocation is a process of its own, whose
 * clock differs by up to 2 s. A sixth of them are killed, and messages are lost or come late.
 */
async function storm(seed: number, policiesFrom: (startMs: number) => Policies): Promise<Storm> {
  const random = new SeededRandom(seed);
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { storeClock: { toleranceMs: 0, exact: true } });
  const startMs = world.wallMs() + PERIOD_MS;
  const policies = policiesFrom(startMs);
  const running = new Map<object, ProcessClock>();
  const worked = Array.from({ length: TICKS }, () => 0);
  const surprises: unknown[] = [];
  let atOnce = 0;

  const network: Network = () => {
    const afterMs = 1 + below(30);
    if (random.chance(0.02)) return { arrivals: [] };
    if (random.chance(0.02)) return { arrivals: [{ afterMs }] };
    return { arrivals: [{ afterMs, replyAfterMs: afterMs }, ...(random.chance(0.02) ? [{ afterMs: below(9_000) }] : [])] };
  };

  function storeOf(clock: ProcessClock, passage: Network) {
    const records = service.connect(clock, passage);
    const occurrences = (): RecordOccurrenceStore => new RecordOccurrenceStore(records, { clock });
    return Object.assign(new RecordLeaseStore(records, { clock }), { occurrences });
  }

  async function work(clock: ProcessClock, { signal, occurrence }: FunctionLeadership): Promise<void> {
    const run = {};
    running.set(run, clock);
    atOnce = Math.max(atOnce, [...running.values()].filter(({ alive }) => alive).length);
    await sleep(clock, below(40_000), signal).finally(() => running.delete(run));
    if (random.chance(0.15)) throw new Error("disk full");
    const tick = ((occurrence?.scheduledMs ?? 0) - startMs) / PERIOD_MS;
    worked[tick] = (worked[tick] ?? 0) + 1;
  }

  /** Returns true unless the platform has to deliver again. */
  async function invoke(tick: number, delivery: string): Promise<boolean> {
    const clock = new ProcessClock(world, { wallOffsetMs: below(4_000) - 2_000 });
    const options = {
      ...policies,
      gate: "oncePerTick",
      store: storeOf(clock, network),
      election: "nightly",
      clock,
      remainingMs: TIMEOUT_MS,
      logger: false,
      delivery: () => delivery,
      occurrence: () => ({ name: "nightly", scheduledMs: startMs + tick * PERIOD_MS }),
    } as const;
    const handler = onlyAsLeader(options, async (leadership) => await work(clock, leadership));
    const isKilled = sleep(world, random.chance(0.16) ? below(60_000) : TIMEOUT_MS).then(() => false);
    const isTaken = handler().then(
      (result) => !["claimed", "unavailable"].includes((result as NotElected | undefined)?.reason ?? "ran"),
      (error: unknown) => {
        const isExpected = isLeaseholdError(error) || error instanceof AggregateError || (error as Error).message === "disk full";
        if (!isExpected || isLeaseholdError(error, "CONFIGURATION")) surprises.push(error);
        return false;
      },
    );
    const taken = await Promise.race([isKilled, isTaken]);
    clock.kill();
    return taken;
  }

  async function deliver(tick: number, region: string): Promise<void> {
    await sleep(world, startMs + tick * PERIOD_MS + 2_500 + below(4_000) - world.wallMs());
    for (let delivery = 0; delivery < MOST_DELIVERIES; delivery += 1) {
      if (await invoke(tick, `${region}-${tick}`)) return;
      await sleep(world, 15_000 + delivery * 30_000);
    }
  }

  const ticks = [...worked.keys()];
  await world.runUntil(Promise.all(ticks.flatMap((tick) => [deliver(tick, "west"), deliver(tick, "east")])), 3_600_000);
  const reader = occurrencesOf(storeOf(new ProcessClock(world), promptNetwork()), "nightly", 86_400_000, "this test");
  const ends: Array<Storm["ends"][number]> = [];
  for (const tick of ticks) {
    const bar = (await world.runUntil(reader.read(`nightly@${isoOf(startMs + tick * PERIOD_MS)}`)))?.bar;
    const [end] = bar?.kind === "done" ? (Object.keys(bar.completion ?? { done: 0 }) as Array<keyof Completion | "done">) : [];
    ends.push(end ?? "open");
  }
  return { atOnce, worked, ends, surprises };
}

describe.each<Overlap>(["allowAll", "skip", "bufferOne", "cancelOther"])("in storms of invocations with %s,", (overlap) => {
  test.each<[string, (startMs: number) => Omit<Policies, "overlap">]>([
    ["no other policy", () => ({})],
    ["two tries", () => ({ tries: 2 })],
    ["catch-up", (startMs) => ({ catchUp: { atMost: 4, since: isoOf(startMs), previous: (ms) => ms - PERIOD_MS } })],
  ])("and with %s: each tick ends once, and no two handlers overlap unless they may", async (_, more) => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= STORMS; seed += 1) {
      const { atOnce, worked, ends, surprises } = await storm(seed, (startMs) => ({ overlap, ...more(startMs) }));
      expect(surprises, `seed ${seed}`).toEqual([]);
      if (overlap !== "allowAll") expect(atOnce, `seed ${seed}`).toBe(1);
      expect(ends, `seed ${seed}`).not.toContain("open");
      for (const [tick, end] of ends.entries()) {
        if (end === "done") expect(worked[tick], `seed ${seed}, tick ${tick}`).toBeGreaterThanOrEqual(1);
        seen.add(end);
      }
    }
    expect(seen).toContain("done");
    expect(seen.has("skipped")).toBe(overlap !== "allowAll");
  });
});
