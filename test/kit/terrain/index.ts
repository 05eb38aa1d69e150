export { findArgumentFaults, type SynthesizedStack } from "./argument-check.ts";
export { compareWithFolder, reportDifferences } from "./bindings-comparison.ts";
export { comparableResources, resourcesOfHcl } from "./hcl.ts";
export type { ArgumentFacts, AttributeFact, AttributeType, BlockFact, ProviderFacts, ResourceFacts } from "./provider-facts.ts";
export { synthesizedFor, type Resource, type Synthesized } from "./synthesized.ts";
export { hasTerraform, terraformProviders } from "./terraform-providers.ts";
export { warningsOf } from "./warnings.ts";
