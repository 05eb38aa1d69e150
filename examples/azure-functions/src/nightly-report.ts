import { app } from "@azure/functions";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { onlyAsLeader } from "@leasehold/functions/azure-functions";

const { LEASE_ACCOUNT_URL: accountUrl, LEASE_CONTAINER: containerName = "leases", LEASE_STORAGE: connectionString } = process.env;
const { ELECTION: election = "nightly-report", LEADER_RETRIES = "13", LEADER_RETRY_DELAY_MS = "30000" } = process.env;

// In Azure use the account's URL, with the app's own identity. On your machine use a connection string, such as Azurite's.
const place = accountUrl === undefined ? { connectionString, createContainer: true } : { accountUrl };
const store = new BlobLeaseStore({ ...place, containerName });

app.timer("nightlyReport", {
  schedule: "%LEADER_SCHEDULE%",
  // An invocation that dies keeps its claim for as long as it might have run. The retries last longer than that.
  retry: { strategy: "fixedDelay", maxRetryCount: Number(LEADER_RETRIES), delayInterval: Number(LEADER_RETRY_DELAY_MS) },
  // Does each night once, in any number of regions.
  handler: onlyAsLeader({ gate: "oncePerTick", store, election }, async (_timer, context, { occurrence, signal }) => {
    for (const account of await accounts()) {
      // Throws if the work was cut short, because otherwise the night counts as done.
      signal.throwIfAborted();
      context.log(`report of ${account}, attempt ${occurrence?.attempt}`);
    }
  }),
});

/** A placeholder for your own query. */
async function accounts(): Promise<string[]> {
  return await Promise.resolve(["acme", "globex"]);
}
