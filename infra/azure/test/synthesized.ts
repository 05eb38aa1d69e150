import { findArgumentFaults, type SynthesizedStack } from "@leasehold/infra-terrain/testing";
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

// oxlint-disable-next-line typescript/no-explicit-any -- whatever a stack holds
export type Resource = Readonly<Record<string, any>>;

export interface Synthesized {
  readonly json: string;
  readonly resources: Readonly<Record<string, Readonly<Record<string, Resource>>>>;
  /** All resources of a type. */
  readonly of: (type: string) => Resource[];
}

/** What a stack is written as. Nothing is looked at that the provider would not take. */
export function synthesized(stack: TerraformStack): Synthesized {
  const json = Testing.synth(stack, true);
  const parsed = JSON.parse(json) as SynthesizedStack;
  const faults = findArgumentFaults(parsed, azurerm);
  if (faults.length > 0) throw new Error(`azurerm would refuse this:\n${faults.join("\n")}`);
  const resources = parsed.resource ?? {};
  return { json, resources, of: (type) => Object.values(resources[type] ?? {}) };
}
