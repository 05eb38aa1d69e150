import { Testing, type TerraformStack } from "cdktn";
import { findArgumentFaults, type SynthesizedStack } from "./argument-check.ts";
import type { ProviderFacts } from "./provider-facts.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- whatever a stack holds
export type Resource = Readonly<Record<string, any>>;

export interface Synthesized {
  readonly json: string;
  readonly resources: Readonly<Record<string, Readonly<Record<string, Resource>>>>;
  /** All resources of a type. */
  readonly of: (type: string) => Resource[];
}

/** The files that a stack is written as. Nothing is looked at that the provider would not take. */
export function synthesizedFor(provider: ProviderFacts, stack: TerraformStack): Synthesized {
  const json = Testing.synth(stack, true);
  const parsed = JSON.parse(json) as SynthesizedStack;
  const faults = findArgumentFaults(parsed, provider);
  if (faults.length > 0) throw new Error(`${provider.source} would refuse this:\n${faults.join("\n")}`);
  const resources = parsed.resource ?? {};
  return { json, resources, of: (type) => Object.values(resources[type] ?? {}) };
}
