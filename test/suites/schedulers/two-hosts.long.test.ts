import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { SqlLeaseStore } from "@leasehold/sql";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import { expect, test } from "vitest";
import type { HostSettings, TickDone } from "./host-process.ts";

const PROGRAM = new URL("host-process.ts", import.meta.url);
const ADAPTERS = ["node-cron", "coordinator", "cron", "croner", "NestJS", "by hand"];
const TICKS = 10;
const LIMIT = { timeout: 600_000 };

/**
 * Real processes, real timers and a real store. On a busy machine both hosts may be late for a tick, which a scheduler then
 * skips. The package's own tests show in virtual time that each tick is done. Here no tick may be done twice.
 */
test.concurrent.each([300, 5_000])("two processes whose clocks are %d ms apart do no tick twice", LIMIT, async (behindMs) => {
  const folder = await memoryFolder("leasehold-schedulers-");
  const file = join(folder, "leases.db");
  await using store = new SqlLeaseStore({ sqlite: file });
  await store.migrate();
  const done = new Map<string, number[]>(ADAPTERS.map((adapter) => [adapter, []]));
  const enough = Promise.withResolvers<void>();
  const hosts = [0, behindMs].map(
    (behind) =>
      new LineProcess<TickDone>({
        program: PROGRAM,
        settings: { behindMs: behind, file } satisfies HostSettings,
        onLine: ({ adapter, scheduledMs }) => {
          done.get(adapter)?.push(scheduledMs);
          if ([...done.values()].every(({ length }) => length >= TICKS)) enough.resolve();
        },
        onEnd: ({ code }) => enough.reject(new Error(`A host has ended, with code ${code}.`)),
      }),
  );
  try {
    await enough.promise;
    // The time that the slower host needs for its remaining ticks.
    await pass(behindMs + 1_000);
  } finally {
    for (const host of hosts) host.signal("SIGKILL");
    await Promise.all(hosts.map(async ({ ended }) => await ended));
    await rm(folder, { recursive: true });
  }
  for (const [adapter, times] of done) expect(times.length, adapter).toBe(new Set(times).size);
});
