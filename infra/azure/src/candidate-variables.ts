import type { ManagedIdentity } from "./access.ts";
import type { LeaseContainer } from "./lease-container.ts";

/**
 * Returns the variables by which a candidate's code finds its leases:
 * `new BlobLeaseStore({ accountUrl: process.env.LEASE_ACCOUNT_URL, containerName: process.env.LEASE_CONTAINER })`.
 * `DefaultAzureCredential` takes the identity from `AZURE_CLIENT_ID`. `ELECTION` is the first of its elections.
 */
export function candidateVariables(
  leases: LeaseContainer,
  identity: ManagedIdentity,
  elections: readonly string[],
): Record<string, string> {
  const [election = ""] = elections;
  return {
    AZURE_CLIENT_ID: identity.clientId,
    LEASE_ACCOUNT_URL: leases.accountUrl,
    LEASE_CONTAINER: leases.containerName,
    ELECTION: election,
  };
}
