import type { UserAssignedIdentity } from "./azurerm.ts";
import type { LeaseContainer } from "./lease-container.ts";

/**
 * The environment in which a candidate's code finds its leases:
 * `new BlobLeaseStore({ accountUrl: process.env.LEASE_ACCOUNT_URL, containerName: process.env.LEASE_CONTAINER })`.
 * `DefaultAzureCredential` takes the identity from `AZURE_CLIENT_ID`.
 */
export function candidateEnvironment(leases: LeaseContainer, identity: UserAssignedIdentity): Record<string, string> {
  return {
    AZURE_CLIENT_ID: identity.clientId,
    LEASE_ACCOUNT_URL: leases.accountUrl,
    LEASE_CONTAINER: leases.containerName,
  };
}
