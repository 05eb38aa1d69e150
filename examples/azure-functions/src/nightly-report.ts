import { app } from "@azure/functions";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { onlyAsLeader } from "@leasehold/functions/azure-functions";

const { LEASE_ACCOUNT_URL: accountUrl, LEASE_CONTAINER: containerName = "leases", LEASE_STORAGE: connectionString } = process.env;
const { ELECTION: election = "nightly-report", LEADER_RETRIES = "13", LEADER_RETRY_DELAY_MS = "30000" } = process.env;

// In Azure the account's URL, with the app's own identity; on your machine a connection string, such as Azurite's.
const place = accountUrl === undefined ? { connectionString, createContainer: true } : { accountUrl };
const store = new BlobLeaseStore({ ...place, containerName });

app.timer("nightlyReport", {
  schedule: "%LEADER_SCHEDULE%",
  // An invocation that dies keeps its claim for as long as it might have run; these go on for longer than that.
  retry: { strategy: "fixedDelay", maxRetryCount: Number(LEADER_RETRIES), delayInterval: Number(LEADER_RETRY_DELAY_MS) },
  // Each night once, in however many regions the app runs.
  handler: onlyAsLeader({ gate: "oncePerTick", store, election }, async (_timer, context, { occurrence, signal }) => {
    for (const account of await accounts()) {
      // Throws where the night was cut short, or it would count as done.
      signal.throwIfAborted();
      context.log(`report of ${account}, attempt ${occurrence?.attempt}`);
    }
  }),
});

/** Stands for a query of your own. */
async function accounts(): Promise<string[]> {
  return await Promise.resolve(["acme", "globex"]);
}
