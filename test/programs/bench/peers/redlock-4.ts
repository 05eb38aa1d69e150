import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import Redlock, { type Lock } from "redlock-4";
import type { Adapter } from "./contender.ts";
import { connected } from "./redis-connection.ts";

/** It has no renewal of its own, so it is renewed three times in a lease. Its lock has the time until which it is valid. */
export const redlock4: Adapter = {
  async connect(host, leaseDurationMs) {
    const redis = await connected(new Redis(`redis://${host}`));
    const redlock = new Redlock([redis]);
    redlock.on("clientError", () => undefined);
    return {
      campaign(election, changed) {
        const stopping = new AbortController();
        let lock: Lock | undefined;
        const leads = (): boolean => (lock?.expiration ?? 0) > Date.now();
        const lead = async (): Promise<void> => {
          while (!stopping.signal.aborted) {
            try {
              const won = await redlock.lockWithOptions(election, leaseDurationMs, { retryCount: -1 });
              lock = won;
              changed();
              for (;;) {
                await delay(leaseDurationMs / 3, undefined, { signal: stopping.signal });
                await won.extend(leaseDurationMs);
              }
            } catch {
              changed();
            }
          }
        };
        void lead();
        return {
          leads,
          async stop() {
            stopping.abort();
            await lock?.unlock().catch(() => undefined);
          },
        };
      },
      close: () => Promise.resolve(redis.disconnect()),
    };
  },
};
