import { app } from "@azure/functions";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { onlyAsLeader } from "@leasehold/functions/azure-functions";

const { LEASE_STORAGE_URL: accountUrl, LEASE_STORAGE: connectionString } = process.env;

// In Azure the account's URL, with the app's own identity; on your machine a connection string, such as Azurite's.
const place = accountUrl === undefined ? { connectionString, createContainer: true } : { accountUrl };
const store = new BlobLeaseStore({ ...place, containerName: "leases" });

app.timer("nightlyBilling", {
  schedule: "0 0 3 * * *",
  // The app runs in two regions. Whichever comes first bills; a twin that comes within the minute skips.
  handler: onlyAsLeader({ store, election: "nightly-billing", minimumHoldMs: 60_000 }, async (_timer, context, leadership) => {
    for (const account of await dueAccounts()) {
      // A lease on a blob lasts for a minute at most; this renews it where that is due, and throws once to stop.
      await leadership.checkpoint();
      context.log(`billing ${account} in term ${leadership.term}`);
    }
  }),
});

/** Stands for a query of your own. */
async function dueAccounts(): Promise<string[]> {
  return await Promise.resolve(["acme", "globex"]);
}
