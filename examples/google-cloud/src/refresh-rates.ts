import { http } from "@google-cloud/functions-framework";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { openStore, setting } from "./store.ts";

/** Refreshes exchange rates every minute in one region. The other region takes over once the first has missed two minutes. */
http(
  "refreshRates",
  onlyAsLeaderOnHttp(
    // CLOUD_RUN_TIMEOUT_SECONDS contains its time limit.
    { gate: "sticky", store: openStore(), election: setting("ELECTION"), group: setting("REGION"), periodMs: 60_000 },
    async (_request, response, { signal, term }) => {
      const rates = await currentRates(signal);
      response.json({ refreshed: Object.keys(rates).length, term });
    },
  ),
);

/** A placeholder for a request to a paid service. Pass it the signal. */
async function currentRates(signal: AbortSignal): Promise<Record<string, number>> {
  signal.throwIfAborted();
  return await Promise.resolve({ EURUSD: 1.16, EURCHF: 0.93 });
}
