import { Elector } from "@leasehold/core";
import { RedisLeaseStore } from "@leasehold/redis";
import { Redis } from "ioredis";

const store = new RedisLeaseStore({ client: new Redis("redis://cache.internal:6379") });
const elector = new Elector({ store, election: "nightly-billing" });

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

await elector.run(
  async (leadership) => {
    while (!leadership.signal.aborted) await billNextCustomer(leadership.signal);
  },
  { signal: stopping.signal },
);
// Not shown:
declare function billNextCustomer(signal: AbortSignal): Promise<void>;
