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

/** Returns the files of a stack. Fails if the stack has anything that its providers would refuse. */
export function synthesizedFor(stack: TerraformStack, ...providers: readonly ProviderFacts[]): Synthesized {
  const json = Testing.synth(stack, true);
  const parsed = JSON.parse(json) as SynthesizedStack;
  const faults = findArgumentFaults(parsed, ...providers);
  if (faults.length > 0)
    throw new Error(`${providers.map(({ source }) => source).join(" or ")} would refuse this:\n${faults.join("\n")}`);
  const resources = parsed.resource ?? {};
  return { json, resources, of: (type) => Object.values(resources[type] ?? {}) };
}
