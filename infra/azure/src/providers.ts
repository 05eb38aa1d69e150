import type { Construct } from "constructs";
import { ConfiguredProvider } from "../../terraform.ts";

export interface AzureProviderArguments {
  readonly subscription_id?: string;
}

/**
 * HashiCorp's provider, set up for accounts that accept no keys. It uses Entra ID for the storage service. It does not read the
 * data plane (the properties of queues), because an owner of the subscription may have no right to that.
 * https://registry.terraform.io/providers/hashicorp/azurerm/4.73.0/docs
 */
export class AzurermProvider extends ConfiguredProvider {
  constructor(scope: Construct, id: string, args: AzureProviderArguments = {}) {
    const storage = { features: { storage: { data_plane_available: false } }, storage_use_azuread: true };
    super(scope, id, "hashicorp/azurerm", "~> 4.73", { ...storage, ...args });
  }
}

/** Microsoft's own provider. It sends its arguments to Azure's resource manager unchanged. `LeaderScheduledFunction` needs it. */
export class AzapiProvider extends ConfiguredProvider {
  constructor(scope: Construct, id: string, args: AzureProviderArguments = {}) {
    super(scope, id, "Azure/azapi", "~> 2.4", args);
  }
}
