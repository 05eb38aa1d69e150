import { Construct } from "constructs";
import { assignRole, type ManagedIdentity } from "./access.ts";
import { CLOSED_ACCOUNT, type ResourceGroupReference } from "./lease-container.ts";
import { ProviderResource } from "../../terraform.ts";

/** A part of the platform of a function app. */
interface Part {
  /** The app's settings, by which the platform finds it. */
  readonly settings: Readonly<Record<string, string>>;
  /** The assignment that has to exist before the app starts. */
  readonly right: ProviderResource;
}

/**
 * Makes a storage account for the platform: the code, and the states of timers. It accepts no keys. The setting
 * `AzureWebJobsStorage` itself must not be set, because the platform prefers a connection string.
 */
export function hostAccount(
  scope: Construct,
  name: string,
  group: ResourceGroupReference,
  identity: ManagedIdentity,
): Part & { readonly codeUrl: string } {
  const parent = new Construct(scope, "Host");
  const account = new ProviderResource(parent, "Account", "azurerm_storage_account", {
    name,
    resource_group_name: group.name,
    location: group.location,
    ...CLOSED_ACCOUNT,
    account_replication_type: "LRS",
  });
  const code = { name: "code", storage_account_id: account.id };
  const container = new ProviderResource(parent, "Container", "azurerm_storage_container", code);
  return {
    codeUrl: `${account.attribute("primary_blob_endpoint")}${container.attribute("name")}`,
    // https://learn.microsoft.com/azure/azure-functions/functions-reference#connecting-to-host-storage-with-an-identity
    right: assignRole(parent, "Owner", "Storage Blob Data Owner", account.id, identity),
    settings: {
      AzureWebJobsStorage__accountName: account.attribute("name"),
      AzureWebJobsStorage__credential: "managedidentity",
      AzureWebJobsStorage__clientId: identity.clientId,
    },
  };
}

/** Makes Application Insights. The app sends its telemetry as its identity. */
export function telemetry(
  scope: Construct,
  name: string,
  group: ResourceGroupReference,
  identity: ManagedIdentity,
  workspaceId: string,
): Part {
  const parent = new Construct(scope, "Telemetry");
  const insights = new ProviderResource(parent, "Insights", "azurerm_application_insights", {
    name: `${name}-insights`,
    resource_group_name: group.name,
    location: group.location,
    application_type: "web",
    workspace_id: workspaceId,
    // Only identities with the right may send telemetry. The connection string alone is not enough.
    local_authentication_disabled: true,
  });
  return {
    // https://learn.microsoft.com/azure/azure-monitor/app/azure-ad-authentication
    right: assignRole(parent, "Publisher", "Monitoring Metrics Publisher", insights.id, identity),
    settings: {
      APPLICATIONINSIGHTS_CONNECTION_STRING: insights.attribute("connection_string"),
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: `ClientId=${identity.clientId};Authorization=AAD`,
    },
  };
}
