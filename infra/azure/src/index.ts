export { AzurermProvider, ResourceGroup, RoleAssignment, UserAssignedIdentity, type PrincipalType } from "./azurerm.ts";
export { CandidateApp, type CandidateAppProps } from "./candidate-app.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseContainer, type Grantee, type LeaseContainerProps, type ResourceGroupReference } from "./lease-container.ts";
export type { StorageMetric } from "./storage-metric.ts";
