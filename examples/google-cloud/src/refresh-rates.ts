import { http } from "@google-cloud/functions-framework";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { openStore, setting } from "./store.ts";

/** Refreshes exchange rates every minute in one region, and in the other once the first has missed two minutes. */
http(
  "refreshRates",
  onlyAsLeaderOnHttp(
    // Its time limit is in CLOUD_RUN_TIMEOUT_SECONDS.
    { gate: "sticky", store: openStore(), election: setting("ELECTION"), group: setting("REGION"), periodMs: 60_000 },
    async (_request, response, { signal, term }) => {
      const rates = await currentRates(signal);
      response.json({ refreshed: Object.keys(rates).length, term });
    },
  ),
);

/** Stands for a request to somebody who counts your requests: give it the signal. */
async function currentRates(signal: AbortSignal): Promise<Record<string, number>> {
  signal.throwIfAborted();
  return await Promise.resolve({ EURUSD: 1.16, EURCHF: 0.93 });
}
