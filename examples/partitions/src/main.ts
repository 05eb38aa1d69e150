import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError } from "@leasehold/core";
import { Fleet, type Shard } from "@leasehold/fleet";
import { Orders, SHARDS } from "./orders.ts";
import { runProgram } from "./program.ts";
import { databaseUrl, leaseDurationMs } from "./settings.ts";

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());

/** Applies the orders of a shard one after the other, for as long as this process holds it. */
async function drain(orders: Orders, shard: Shard): Promise<void> {
  console.log(`shard ${shard.name}, term ${shard.term}: begins`);
  let applied = 0;
  while (!shard.signal.aborted) {
    try {
      if (await orders.applyNext(shard)) {
        applied += 1;
        await delay(20, undefined, { signal: shard.signal });
      } else await delay(500, undefined, { signal: shard.signal });
    } catch (error) {
      if (shard.signal.aborted) break;
      // Another process holds the shard. If this one was frozen, its signal may not have aborted yet.
      if (!isLeaseholdError(error, "FENCED")) throw error;
      console.log(`shard ${shard.name}, term ${shard.term}: refused`);
      break;
    }
  }
  console.log(`shard ${shard.name}, term ${shard.term}: applied ${applied} orders`);
}

await runProgram(async () => {
  await using orders = new Orders(databaseUrl());
  const fleet = new Fleet({ store: orders.store, fleet: "orders", shards: SHARDS, leaseDurationMs });
  console.log(`${fleet.memberId} joins`);
  await fleet.run((shard) => drain(orders, shard), { signal: stop.signal });
});
