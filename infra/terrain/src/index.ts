export { checkCandidates, environmentBlocks } from "./containers.ts";
export { checkElections, MAX_NAME_BYTES } from "./election-names.ts";
export { granteeId } from "./grantee-id.ts";
export { ProviderResource, ResourceProvider } from "./provider-resource.ts";
export { retention, type RemovalPolicy } from "./removal-policy.ts";
export { synthesize } from "./synthesize.ts";
export { retriesInPeriod, type Tries } from "./tries-in-period.ts";
