import { BlobLeaseStore } from "@leasehold/azure-blob";

const { LEASE_ACCOUNT_URL: accountUrl, LEASE_CONTAINER: containerName = "leases", LEASE_STORAGE: connectionString } = process.env;

/**
 * Opens the store. In Azure it uses the account's URL and the identity in AZURE_CLIENT_ID, on your machine a connection string,
 * such as Azurite's.
 */
export function openStore(): BlobLeaseStore {
  if (accountUrl !== undefined) return new BlobLeaseStore({ accountUrl, containerName });
  return new BlobLeaseStore({ connectionString, containerName, createContainer: true });
}
