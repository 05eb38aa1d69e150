import { RedisLeaseStore } from "@leasehold/redis";
import { Redis } from "ioredis";
import Redlock from "redlock-5";
import { LEASE_MS, leadOn, type Rivals } from "./candidate.ts";

export const rivals: Rivals = {
  async theirs(url) {
    const redis = new Redis(url);
    redis.on("error", () => undefined);
    const redlock = new Redlock([redis]);
    redlock.on("error", () => undefined);
    const over = new AbortController();
    const held = Promise.withResolvers<AbortSignal>();
    // `using` renews the lock by itself, and reports a loss by the signal.
    const lock = redlock.using(["billing"], LEASE_MS, { retryCount: -1 }, async (signal) => {
      held.resolve(signal);
      await new Promise((resolve) => over.signal.addEventListener("abort", resolve, { once: true }));
    });
    lock.catch(held.reject);
    const signal = await held.promise;
    return {
      leads: () => !signal.aborted,
      async close() {
        over.abort();
        await lock;
        redis.disconnect();
      },
    };
  },
  async ours(url) {
    const store = new RedisLeaseStore({ url });
    return await leadOn(store, () => store.close());
  },
};
