import { setTimeout as delay } from "node:timers/promises";
import { Fleet } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";
import { runProgram } from "./program.ts";
import { databaseUrl, leaseDurationMs } from "./settings.ts";

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());

// Start it as often as you like: at most three processes import at a time, because the other side allows three connections.
await runProgram(async () => {
  await using store = new SqlLeaseStore({ postgres: databaseUrl() });
  const fleet = new Fleet({ store, fleet: "importers", atMost: 3, leaseDurationMs });
  console.log(`${fleet.memberId} waits for one of three places`);
  const importAll = async ({ name, signal }: { readonly name: string; readonly signal: AbortSignal }): Promise<void> => {
    console.log(`imports on place ${name}`);
    while (!signal.aborted) await delay(1_000, undefined, { signal }).catch(() => undefined);
    console.log(`gives place ${name} back`);
  };
  await fleet.run(importAll, { signal: stop.signal });
});
