import { synthesizedFor, type Resource, type Synthesized } from "@leasehold/infra-terrain/testing";
import { TerraformStack, Testing } from "cdktn";
import { AzurermProvider, LeaseContainer, type LeaseContainerProps } from "@leasehold/infra-azure";
import { azurerm } from "./azurerm-facts.ts";

export const GROUP = { id: "/subscriptions/s/resourceGroups/group", name: "group", location: "westeurope" } as const;

/** A stack with the provider in it, and nothing else. */
export function emptyStack(): TerraformStack {
  const stack = new TerraformStack(Testing.app(), "stack");
  new AzurermProvider(stack, "Azure", { features: {}, storage_use_azuread: true });
  return stack;
}

export function leasesIn(stack: TerraformStack, props: Partial<LeaseContainerProps> = {}): LeaseContainer {
  return new LeaseContainer(stack, "Leases", { resourceGroup: GROUP, accountName: "leaseaccount", ...props });
}

export type { Resource, Synthesized };

/** The files that a stack is written as. Nothing is looked at that the provider would not take. */
export function synthesized(stack: TerraformStack): Synthesized {
  return synthesizedFor(azurerm, stack);
}
