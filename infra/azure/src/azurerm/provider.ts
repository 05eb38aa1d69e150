import { ResourceProvider } from "@leasehold/infra-terrain";
import type { Construct } from "constructs";

/** The arguments in use, by the provider's own names: https://registry.terraform.io/providers/hashicorp/azurerm/4.73.0/docs */
interface AzurermArguments extends AzurermProviderArguments {
  readonly features: { readonly storage: { readonly data_plane_available: boolean } };
  readonly storage_use_azuread: boolean;
}

export interface AzurermProviderArguments {
  readonly subscription_id?: string;
}

/**
 * HashiCorp's provider, set up for accounts that accept no keys. It uses Entra ID for the storage service. It does not read the
 * data plane (the properties of queues), because an owner of the subscription may have no right to that.
 */
export class AzurermProvider extends ResourceProvider<AzurermArguments> {
  static override readonly providerName: string = "azurerm";
  static override readonly versionConstraint: string = "~> 4.73";

  constructor(scope: Construct, id: string, args: AzurermProviderArguments = {}) {
    super(scope, id, { features: { storage: { data_plane_available: false } }, storage_use_azuread: true, ...args });
  }
}
