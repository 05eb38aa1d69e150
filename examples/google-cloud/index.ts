import { http } from "@google-cloud/functions-framework";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";

// The project and the credentials of the service account that the function runs as.
const store = new FirestoreLeaseStore();

/** Refreshes exchange rates every minute in one region, and in the other once the first has missed two minutes. */
http(
  "refreshRates",
  onlyAsLeaderOnHttp(
    {
      gate: "sticky",
      store,
      election: "exchange-rates",
      group: process.env["REGION"] ?? "local",
      periodMs: 60_000,
      timeoutMs: 50_000,
    },
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
