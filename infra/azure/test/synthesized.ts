import { synthesizedFor, type Resource, type Synthesized } from "@leasehold/test-kit/terrain";
import { TerraformStack, Testing } from "cdktn";
import { AzapiProvider, AzurermProvider, LeaseContainer, type LeaseContainerProps } from "@leasehold/infra-azure";
import { azapi } from "./azapi-facts.ts";
import { azurerm } from "./azurerm-facts.ts";

export const GROUP = { id: "/subscriptions/s/resourceGroups/group", name: "group", location: "westeurope" } as const;

/** A stack with the providers, and nothing else. */
export function emptyStack(): TerraformStack {
  const stack = new TerraformStack(Testing.app(), "stack");
  new AzurermProvider(stack, "Azure");
  new AzapiProvider(stack, "Azapi", {});
  return stack;
}

export function leasesIn(stack: TerraformStack, props: Partial<LeaseContainerProps> = {}): LeaseContainer {
  return new LeaseContainer(stack, "Leases", { resourceGroup: GROUP, accountName: "leaseaccount", ...props });
}

export type { Resource, Synthesized };

/** Returns the synthesized files of a stack. Fails if a provider would refuse them. */
export function synthesized(stack: TerraformStack): Synthesized {
  return synthesizedFor(stack, azurerm, azapi);
}
