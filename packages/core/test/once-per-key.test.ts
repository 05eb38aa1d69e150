import { oncePerOccurrence, type ClaimedLeadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { ClaimedKey, OncePerKeyOptions } from "@leasehold/core/occurrences";
import { VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { Host, occurrenceService } from "./host.ts";
import { Lines } from "./lines.ts";

const DONE = { ran: false, reason: "done" };
const DAY_MS = 86_400_000;

let world: VirtualClock;
let service: SimulatedRecordService;
let a: Host;
let b: Host;

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  a = new Host(world, service);
  b = new Host(world, service);
});

type Work<T> = (leadership: ClaimedLeadership<unknown, ClaimedKey>) => T | Promise<T>;

function migrate<T>(host: Host, task: Work<T>, options: Partial<OncePerKeyOptions> = {}, signal?: AbortSignal) {
  return oncePerOccurrence<T>({ store: host.store, name: "migrate", key: "4f2c9aa", logger: false, ...options }, task, {
    signal,
  });
}

describe("work with a key", () => {
  test("runs on one of all replicas, and the others return after its end", async () => {
    const replicas = Array.from({ length: 5 }, () => new Host(world, service));
    const events: string[] = [];
    const started = replicas.map(async (host) => {
      const outcome = await migrate(host, async () => {
        await sleep(host.clock, 40_000);
        events.push("migrated");
      });
      events.push("serves");
      return outcome.ran;
    });

    await expect(world.runUntil(Promise.all(started))).resolves.toSatisfy((ran: boolean[]) => ran.filter(Boolean).length === 1);
    expect(events).toEqual(["migrated", ...replicas.map(() => "serves")]);
    expect(world.pendingTimers).toBe(0);
  });

  test("has the name that `run --occurrence KEY` gives it, and its task gets name, key and attempt", async () => {
    const outcome = await world.runUntil(migrate(a, ({ occurrence }) => occurrence));

    expect(outcome).toEqual({
      ran: true,
      attempt: 1,
      result: { id: "migrate@4f2c9aa", name: "migrate", key: "4f2c9aa", attempt: 1 },
    });
  });

  test("is done by a waiting replica if the first one fails, or dies", async () => {
    const broken = migrate(a, async () => {
      await sleep(a.clock, 5_000);
      throw new Error("the table is locked");
    });
    void migrate(b, () => new Promise(() => undefined));
    await expect(world.runUntil(broken)).rejects.toThrow("the table is locked");
    await world.advance(5_000);
    const third = migrate(new Host(world, service), () => "migrated");
    b.clock.kill();

    await expect(world.runUntil(third)).resolves.toEqual({ ran: true, result: "migrated", attempt: 3 });
  });

  test("returns at once with whenInProgress 'return', and a signal ends a wait", async () => {
    const working = migrate(a, () => sleep(a.clock, 20_000));
    await expect(world.runUntil(migrate(b, () => 0, { whenInProgress: "return" }))).resolves.toEqual({
      ran: false,
      reason: "in-progress",
    });
    const stop = new AbortController();
    const waiting = migrate(b, () => 0, {}, stop.signal);
    await world.advance(1_000);
    stop.abort(new Error("ten minutes are over"));
    await expect(world.runUntil(waiting)).rejects.toThrow("ten minutes are over");
    await world.runUntil(working);
  });

  test("waits for longer than retentionMs while the work goes on", async () => {
    const options = { retentionMs: DAY_MS, leaseDurationMs: 3_600_000 };
    const working = migrate(a, () => sleep(a.clock, 2 * DAY_MS), options);
    await world.advance(1_000);

    const twin = migrate(b, () => "twin", options);
    await expect(world.runUntil(twin, 3 * DAY_MS)).resolves.toEqual(DONE);
    await working;
  });

  test.skipIf(Number.parseInt(process.versions.node, 10) < 24)(
    "warns of a task that awaits its own key, because it waits for itself until its signal aborts",
    async () => {
      const logger = new Lines();
      const stop = new AbortController();
      const again = (): unknown => migrate(a, () => "inner", { logger }, stop.signal).catch(() => "stopped");
      const outer = migrate(a, again, { logger });
      await world.advance(60_000);
      expect(logger.warnings).toEqual([expect.stringMatching(/^The task of 'migrate@4f2c9aa' waits for 'migrate@4f2c9aa'/)]);
      stop.abort();
      await expect(world.runUntil(outer)).resolves.toMatchObject({ result: "stopped" });

      await world.runUntil(migrate(b, () => migrate(b, () => 1, { key: "next", logger }), { key: "one", logger }));
      await world.runUntil(
        migrate(b, () => migrate(b, () => 1, { key: "two", whenInProgress: "return" }), { key: "two", logger }),
      );
      expect(logger.warnings).toHaveLength(1);
    },
  );

  const refused: Record<string, readonly [object, RegExp]> = {
    "key and scheduledAt": [{ scheduledAt: 0 }, /was given scheduledAt and key\. Pass key/],
    "an empty key": [{ key: "" }, /^key is empty/],
    "a key that is no text": [{ key: 7 }, /^key must be a string, not number/],
    "a key that is null": [{ key: null }, /^key must be a string, not null/],
    "a key that is too long with its name": [{ key: "k".repeat(248) }, /^occurrence has 256 bytes/],
    "no key and no scheduledAt": [{ key: undefined }, /^scheduledAt is missing, and so is key \(is a variable not set\?\)/],
    "a mistyped key": [{ key: undefined, keey: "4f2c9aa" }, /no option 'keey'\. Was 'key' meant\?/],
  };

  test.each(Object.entries(refused))("is refused before any request for %s", async (_, [options, message]) => {
    await expect(migrate(a, () => 0, options as Partial<OncePerKeyOptions>)).rejects.toThrow(message);
    expect(a.requests).toEqual([]);
  });
});
