import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { viaWrappers } from "./adapters.ts";
import { Host } from "./host.ts";
import { occurrenceService } from "./ticks.ts";

const HOUR_MS = 3_600_000;
/** Two hours before the clocks change, forward and back. The zones change by an hour, or by half an hour. */
const CHANGES = [
  ["America/New_York", "2026-03-08T05:00:00Z"],
  ["America/New_York", "2026-11-01T04:00:00Z"],
  ["Europe/Berlin", "2026-03-28T23:00:00Z"],
  ["Europe/Berlin", "2026-10-24T23:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T13:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T13:30:00Z"],
] as const;
const PATTERNS = ["0 30 2 * * *", "0 30 1 * * *", "0 */20 * * * *", "0 0 */2 * * *"];

// Nest's scheduler is cron.
const adapters = Object.entries(viaWrappers).filter(([name]) => name !== "NestJS");

describe.each(adapters)("%s: when the clocks change,", (name, adapter) => {
  test.each(CHANGES)("two hosts name each tick alike, in %s after %s", async (timeZone, begin) => {
    for (const pattern of PATTERNS) {
      const world = new VirtualClock();
      world.jumpWall(Date.parse(begin) - world.wallMs());
      const service = occurrenceService(world);
      const fired: string[] = [];
      const hosts = [new Host(world, service), new Host(world, service, { wallOffsetMs: -5_000 })];
      const stops = await Promise.all(
        hosts.map(
          async (host) =>
            await adapter(host, {
              name: "job",
              pattern,
              timeZone,
              work: (scheduledMs) => {
                // The host's clock shows the time at which the tick was due, right after it fired.
                fired.push(`${new Date(scheduledMs).toISOString()} +${Math.floor((host.clock.wallMs() - scheduledMs) / 1_000)}`);
              },
            }),
        ),
      );
      await world.advance(4 * HOUR_MS);
      await Promise.all(stops.map(async (stop) => await stop()));

      // node-cron skips a time of day that does not exist.
      if (name !== "node-cron" || pattern.includes("*/")) expect(fired.length, pattern).toBeGreaterThan(0);
      expect(
        fired.filter((line) => !line.endsWith(" +0")),
        pattern,
      ).toEqual([]);
      expect(new Set(fired).size, pattern).toBe(fired.length);
    }
  });
});
