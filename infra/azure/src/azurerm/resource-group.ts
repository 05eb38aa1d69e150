import { ProviderResource } from "@leasehold/infra-terrain";

/** The arguments of a resource in a resource group. */
export interface Placed {
  readonly name: string;
  readonly resource_group_name: string;
  readonly location: string;
}

export interface ResourceGroupArguments {
  readonly name: string;
  readonly location: string;
}

export class ResourceGroup extends ProviderResource<ResourceGroupArguments> {
  static override readonly terraformType: string = "azurerm_resource_group";

  get name(): string {
    return this.getStringAttribute("name");
  }

  get location(): string {
    return this.getStringAttribute("location");
  }
}
