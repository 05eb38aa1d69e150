import { Construct } from "constructs";
import { assignRole, type ManagedIdentity } from "./access.ts";
import { CLOSED_ACCOUNT, type ResourceGroupReference } from "./lease-container.ts";
import { ProviderResource } from "./terraform.ts";

export interface FunctionHostProps {
  readonly resourceGroup: ResourceGroupReference;
  /** 3 to 24 lower-case letters and digits. */
  readonly accountName: string;
  /** The identity that the app runs as. */
  readonly identity: ManagedIdentity;
}

const CODE_CONTAINER = "code";

/** A storage account for the platform of a function app: the code, and the states of timers. It accepts no keys. */
export class FunctionHost extends Construct {
  readonly account: ProviderResource;
  /** The URL of the container with the code. */
  readonly codeUrl: string;
  /** The assignment that gives the identity all rights on this account. */
  readonly owner: ProviderResource;
  readonly #identity: ManagedIdentity;

  constructor(scope: Construct, id: string, { resourceGroup, accountName, identity }: FunctionHostProps) {
    super(scope, id);
    this.#identity = identity;
    this.account = new ProviderResource(this, "Account", "azurerm_storage_account", {
      name: accountName,
      resource_group_name: resourceGroup.name,
      location: resourceGroup.location,
      ...CLOSED_ACCOUNT,
      account_replication_type: "LRS",
    });
    new ProviderResource(this, "Container", "azurerm_storage_container", {
      name: CODE_CONTAINER,
      storage_account_id: this.account.id,
      container_access_type: "private",
    });
    this.codeUrl = `${this.account.attribute("primary_blob_endpoint")}${CODE_CONTAINER}`;
    // https://learn.microsoft.com/azure/azure-functions/functions-reference#connecting-to-host-storage-with-an-identity
    this.owner = assignRole(this, "Owner", "Storage Blob Data Owner", this.account.id, identity);
  }

  /**
   * The settings by which the platform finds its storage. `AzureWebJobsStorage` itself must not be set, because the platform
   * prefers a connection string.
   */
  get settings(): Record<string, string> {
    return {
      AzureWebJobsStorage__accountName: this.account.attribute("name"),
      AzureWebJobsStorage__credential: "managedidentity",
      AzureWebJobsStorage__clientId: this.#identity.clientId,
    };
  }
}
