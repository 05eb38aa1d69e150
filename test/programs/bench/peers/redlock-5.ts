import { Redis } from "ioredis";
import Redlock from "redlock-5";
import type { Adapter } from "./contender.ts";
import { connected } from "./redis-connection.ts";

/** Its `using`, which renews by itself and reports by a signal. Manual locks and extensions report as little as version 4's. */
export const redlock5: Adapter = {
  async connect(host, leaseDurationMs) {
    const redis = await connected(new Redis(`redis://${host}`));
    const redlock = new Redlock([redis]);
    redlock.on("error", () => undefined);
    return {
      campaign(election, changed) {
        const stopping = new AbortController();
        let held: AbortSignal | undefined;
        const routine = async (signal: AbortSignal): Promise<void> => {
          held = signal;
          changed();
          const over = AbortSignal.any([signal, stopping.signal]);
          if (!over.aborted) await new Promise((resolve) => over.addEventListener("abort", resolve, { once: true }));
          held = undefined;
          changed();
        };
        const lead = async (): Promise<void> => {
          while (!stopping.signal.aborted) {
            await redlock.using([election], leaseDurationMs, { retryCount: -1 }, routine).catch(() => undefined);
          }
        };
        const done = lead();
        return {
          leads: () => held?.aborted === false,
          async stop() {
            const led = held !== undefined;
            stopping.abort();
            // A waiting lock request waits for ever, because the library cannot cancel it.
            if (led) await done;
          },
        };
      },
      close: () => Promise.resolve(redis.disconnect()),
    };
  },
};
