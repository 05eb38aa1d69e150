import {
  Elector,
  oncePerOccurrence,
  type ClaimedLeadership,
  type Leadership,
  type OncePerOccurrenceOptions,
} from "@leasehold/core";
import { isoOf, sleep } from "@leasehold/core/provider";
import { occurrencesOf, type NotRun, type Overlap } from "@leasehold/core/occurrences";
import { promptNetwork, VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Host, occurrenceService } from "./host.ts";
import { Lines } from "./lines.ts";

const DONE = { ran: false, reason: "done" };
const OVERLAP = { ran: false, reason: "overlap" };
const LEASE_MS = 15_000;

let world: VirtualClock;
let service: SimulatedRecordService;
let a: Host;
let b: Host;
let c: Host;
let due: number;

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  [a, b, c] = [new Host(world, service), new Host(world, service), new Host(world, service)];
  due = world.wallMs();
});

type Task<T> = (leadership: ClaimedLeadership) => T | Promise<T>;

/** Delivers the occurrence with this number to a host. */
function deliver<T>(host: Host, tick: number, overlap: Overlap, task: Task<T>, more: Partial<OncePerOccurrenceOptions> = {}) {
  const scheduledAt = due + tick * 1_000;
  const options = { store: host.store, name: "nightly", scheduledAt, overlap, logger: false, ...more } as const;
  return oncePerOccurrence<T>(options, task);
}

/** Returns the reason in the record of an occurrence without a run. */
async function skipped(tick: number): Promise<NotRun | undefined> {
  const occurrences = occurrencesOf(c.store, "nightly", 86_400_000, "this test");
  const bar = (await world.runUntil(occurrences.read(`nightly@${isoOf(due + tick * 1_000)}`)))?.bar;
  return bar?.kind === "done" ? bar.completion?.skipped : undefined;
}

describe("overlap", () => {
  test.each([
    ["allowAll", ["get", "put", "put"]],
    ["skip", ["get", "put", "get", "put", "put", "put"]],
    ["bufferOne", ["get", "put", "get", "put", "put", "put"]],
    ["cancelOther", ["get", "put", "get", "put", "put", "put"]],
  ] as const)("'%s' costs %j for a run, and one request if it is done", async (overlap, requests) => {
    await expect(world.runUntil(deliver(a, 0, overlap, () => "billed"))).resolves.toEqual({
      ran: true,
      result: "billed",
      attempt: 1,
    });
    await expect(world.runUntil(deliver(b, 0, overlap, () => "twin"))).resolves.toEqual(DONE);

    expect(a.requests).toEqual(requests);
    expect(b.requests).toEqual(["get"]);
    expect(world.pendingTimers).toBe(0);
  });

  test("'skip' skips an occurrence while an earlier one runs on another host, once for all hosts", async () => {
    const first = deliver(a, 0, "skip", () => sleep(a.clock, 90_000));
    await world.advance(1_000);

    await expect(world.runUntil(deliver(b, 1, "skip", () => "billed"))).resolves.toEqual(OVERLAP);
    expect(b.requests).toEqual(["get", "put", "get", "put"]);
    await world.runUntil(first);
    await expect(world.runUntil(deliver(c, 1, "skip", () => "late"))).resolves.toEqual(OVERLAP);
    await expect(skipped(1)).resolves.toBe("overlap");
    await expect(world.runUntil(deliver(c, 2, "skip", () => "next"))).resolves.toMatchObject({ ran: true });
  });

  test("'bufferOne' runs one occurrence after the end of the present one, and skips further ones", async () => {
    const order: string[] = [];
    const first = deliver(a, 0, "bufferOne", async () => {
      await sleep(a.clock, 90_000);
      order.push("first");
    });
    await world.advance(1_000);
    const second = deliver(b, 1, "bufferOne", () => order.push("second"));
    await world.advance(1_000);

    await expect(world.runUntil(deliver(c, 2, "bufferOne", () => order.push("third")))).resolves.toEqual(OVERLAP);
    await world.runUntil(first);
    await expect(world.runUntil(second)).resolves.toMatchObject({ ran: true });
    expect(order).toEqual(["first", "second"]);
    await expect(world.runUntil(deliver(c, 3, "bufferOne", () => "next"))).resolves.toMatchObject({ ran: true });
    expect(world.pendingTimers).toBe(0);
  });

  test("'bufferOne' misses an occurrence that has waited for longer than startWithinMs", async () => {
    const first = deliver(a, 0, "bufferOne", () => sleep(a.clock, 90_000));
    await world.advance(1_000);

    const logger = new Lines();
    const second = deliver(b, 1, "bufferOne", () => "late", { startWithinMs: 20_000, logger });
    await expect(world.runUntil(second)).resolves.toEqual({ ran: false, reason: "missed" });
    expect(logger.of("warn")).toEqual([
      "'nightly@2026-01-01T00:00:01.000Z' is missed: no host had begun it within 20000 ms (startWithinMs).",
    ]);
    await world.runUntil(first);
    const later = deliver(c, 1, "bufferOne", () => "later", { logger });
    await expect(world.runUntil(later)).resolves.toEqual({ ran: false, reason: "missed" });
    expect(logger.of("warn")).toHaveLength(1);
  });

  test("'cancelOther' aborts the earlier task, and begins after its end; the cancelled one is never done again", async () => {
    const events: string[] = [];
    const first = deliver(a, 0, "cancelOther", async ({ signal }) => {
      await sleep(a.clock, 600_000, signal).catch(() => sleep(a.clock, 3_000));
      events.push("first ended");
      signal.throwIfAborted();
    });
    await world.advance(1_000);
    const second = deliver(b, 1, "cancelOther", () => events.push("second"));

    await expect(world.runUntil(first)).resolves.toEqual({ ran: false, reason: "cancelled" });
    await expect(world.runUntil(second)).resolves.toMatchObject({ ran: true });
    expect(events).toEqual(["first ended", "second"]);
    expect(world.wallMs() - due).toBeLessThan(2 * LEASE_MS);
    await expect(world.runUntil(deliver(c, 0, "cancelOther", () => "again"))).resolves.toEqual({
      ran: false,
      reason: "cancelled",
    });
  });

  test.each(["bufferOne", "cancelOther"] as const)("'%s' does not take the wait for a stall of the task", async (overlap) => {
    const stubborn = deliver(a, 0, overlap, () => sleep(a.clock, 60_000), { drainTimeoutMs: 90_000 });
    await world.advance(1_000);

    const second = deliver(b, 1, overlap, () => "second", { stallTimeoutMs: 2_000 });
    await expect(world.runUntil(second)).resolves.toMatchObject({ result: "second" });
    await world.runUntil(stubborn);
  });

  test("'cancelOther' skips an occurrence that is older than the one that runs", async () => {
    const newer = deliver(a, 5, "cancelOther", () => sleep(a.clock, 20_000));
    await world.advance(1_000);

    await expect(world.runUntil(deliver(b, 4, "cancelOther", () => "old"))).resolves.toEqual(OVERLAP);
    await expect(world.runUntil(newer)).resolves.toMatchObject({ ran: true });
  });

  test.each(["skip", "bufferOne", "cancelOther"] as const)(
    "'%s' waits for the lease of a dead earlier attempt of the same occurrence, and does not skip it",
    async (overlap) => {
      const value = "nightly@2026-01-01T00:00:00.000Z";
      const elector = new Elector({ store: a.store, election: "nightly", value, leaseDurationMs: 2 * LEASE_MS });
      await world.runUntil(elector.tryCampaign());
      a.clock.kill();

      await expect(world.runUntil(deliver(b, 0, overlap, () => "billed"))).resolves.toMatchObject({ ran: true });
      expect(world.wallMs() - due).toBeGreaterThan(LEASE_MS);
    },
  );

  test("a task whose schedule was taken over is told so, though its claim still holds", async () => {
    const checks: unknown[] = [];
    const first = deliver(a, 0, "cancelOther", async (leadership) => {
      checks.push(leadership.isValid(), leadership.remainingMs() > 0);
      await sleep(a.clock, 60_000);
      checks.push(leadership.isValid(), leadership.remainingMs());
      const note = (error: unknown): unknown => checks.push((error as Error).name);
      await leadership.renew().catch(note);
      await sleep(a.clock, 1)
        .then(() => leadership.assertValid())
        .catch(note);
      const claim = await a.store.occurrences?.("nightly", { retentionMs: 86_400_000 }).read(leadership.election);
      checks.push(claim?.state, claim?.term === leadership.term);
    });
    await world.advance(1_000);
    const second = deliver(b, 1, "cancelOther", () => sleep(b.clock, 60_000));

    await world.runUntil(Promise.allSettled([first, second]));
    expect(checks).toEqual([true, true, false, 0, "LeaseLostError", "LeaseLostError", "held", true]);
  });

  test("the fence is that of the schedule's election, so that it also blocks an earlier occurrence", async () => {
    const fence = ({ election, term }: Leadership): string => `${election} ${term}`;
    const store = Object.assign(a.store, { fence });
    const run = async (tick: number, overlap: Overlap): Promise<unknown> =>
      await oncePerOccurrence({ store, name: "nightly", scheduledAt: due + tick, overlap, logger: false }, (led) => led.fence());

    await expect(world.runUntil(run(0, "skip"))).resolves.toMatchObject({ result: "nightly 1" });
    await expect(world.runUntil(run(1, "skip"))).resolves.toMatchObject({ result: "nightly 2" });
    await expect(world.runUntil(run(2, "allowAll"))).rejects.toThrow("has no fence for occurrences");
  });

  test("'cancelOther' asks the other occurrence to end once, and again only if that fails", async () => {
    const transfer = vi.spyOn(b.store, "transfer").mockRejectedValueOnce(new Error("connection reset"));
    // Its next read comes before its transfer has arrived.
    b.network = promptNetwork(400);
    const first = deliver(a, 0, "cancelOther", async ({ signal }) => {
      await sleep(a.clock, 600_000, signal).catch(() => sleep(a.clock, 8_000));
      signal.throwIfAborted();
    });
    await world.advance(1_000);

    await expect(world.runUntil(deliver(b, 1, "cancelOther", () => "next"))).resolves.toMatchObject({ ran: true });
    await expect(world.runUntil(first)).resolves.toEqual({ ran: false, reason: "cancelled" });
    expect(transfer).toHaveBeenCalledTimes(2);
  });

  test.each(["bufferOne", "cancelOther"] as const)("'%s' reads once in five seconds while it waits", async (overlap) => {
    const stubborn = deliver(a, 0, overlap, () => sleep(a.clock, 310_000), { drainTimeoutMs: 600_000 });
    await world.advance(1_000);
    const second = deliver(b, 1, overlap, () => "second");
    await world.advance(20_000);
    const before = b.requests.filter((request) => request === "get").length;
    await world.advance(200_000);

    expect(b.requests.filter((request) => request === "get").length - before).toBeLessThanOrEqual(41);
    await expect(world.runUntil(second)).resolves.toMatchObject({ result: "second" });
    await world.runUntil(stubborn);
  });

  test.each([
    ["skip", /^west$/],
    ["bufferOne", /^west$/],
    ["cancelOther", /^west-[0-9a-f]{8}$/],
  ] as const)("'%s' leads the schedule's election as %s", async (overlap, candidateId) => {
    const running = deliver(a, 0, overlap, () => sleep(a.clock, 10_000), { candidateId: "west" });
    await world.advance(1_000);

    expect((await world.runUntil(b.store.read("nightly")))?.holder).toMatch(candidateId);
    await world.runUntil(running);
  });

  test("'cancelOther' cancels also between hosts with one label, and with a long one", async () => {
    const candidateId = "ä".repeat(127);
    const first = deliver(a, 0, "cancelOther", ({ signal }) => sleep(a.clock, 60_000, signal), { candidateId });
    await world.advance(1_000);

    await expect(world.runUntil(deliver(b, 1, "cancelOther", () => "next", { candidateId }))).resolves.toMatchObject({
      ran: true,
    });
    await expect(world.runUntil(first)).resolves.toEqual({ ran: false, reason: "cancelled" });
  });

  test.skipIf(Number.parseInt(process.versions.node, 10) < 24).each([
    ["skip", 0],
    ["bufferOne", 1],
    ["cancelOther", 1],
  ] as const)("'%s' warns %i times of a task that awaits the next occurrence", async (overlap, warnings) => {
    const logger = new Lines();
    const outer = deliver(a, 0, overlap, ({ signal }) => {
      const next = deliver(a, 1, overlap, () => "next", { logger }).catch(() => "stopped");
      return Promise.race([next, new Promise((resolve) => signal.addEventListener("abort", resolve)), sleep(a.clock, 60_000)]);
    });
    await world.runUntil(Promise.allSettled([outer]));
    await world.advance(120_000);

    expect(logger.warnings.filter((line) => /so for itself/.test(line))).toHaveLength(warnings);
  });

  test("a paused schedule skips its occurrences as paused, until it is resumed", async () => {
    await world.runUntil(deliver(a, 0, "skip", () => "billed"));
    await world.runUntil(a.store.pause("nightly", { reason: "month end" }));
    await expect(world.runUntil(deliver(b, 1, "skip", () => "billed"))).resolves.toEqual({ ran: false, reason: "paused" });

    await world.runUntil(a.store.resume("nightly"));
    await expect(world.runUntil(deliver(c, 1, "skip", () => "late"))).resolves.toEqual({ ran: false, reason: "paused" });
    await expect(world.runUntil(deliver(c, 2, "skip", () => "billed"))).resolves.toMatchObject({ ran: true });
  });

  test("a task that throws leaves its occurrence open, and the schedule free", async () => {
    await expect(world.runUntil(deliver(a, 0, "skip", () => Promise.reject(new Error("disk full"))))).rejects.toThrow(
      "disk full",
    );

    await expect(world.runUntil(deliver(b, 0, "skip", () => "billed"))).resolves.toEqual({
      ran: true,
      result: "billed",
      attempt: 2,
    });
  });

  test("a wrong policy, a store without transfer, and a key are refused before any request", async () => {
    await expect(deliver(a, 0, "queue" as Overlap, () => 0)).rejects.toThrow(
      /^overlap is "queue"; it must be 'allowAll', 'skip'/,
    );
    const { capabilities } = a.store;
    Object.assign(a.store, { capabilities: { ...capabilities, transfer: undefined, maxLeaseMs: 60_000 } });
    await expect(deliver(a, 0, "cancelOther", () => 0)).rejects.toThrow(
      /has no transfer, by which oncePerOccurrence with overlap/,
    );
    await expect(deliver(a, 0, "skip", () => 0, { leaseDurationMs: 90_000 })).rejects.toThrow(/^leaseDurationMs is 90000/);
    const keyed = { scheduledAt: undefined, key: "k" } as unknown as Partial<OncePerOccurrenceOptions>;
    await expect(deliver(a, 0, "skip", () => 0, keyed)).rejects.toThrow(/^overlap is for occurrences of a schedule/);
    expect(a.requests).toEqual([]);
  });
});
