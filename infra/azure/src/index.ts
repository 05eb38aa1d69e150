export type { AlertProps } from "./alerts.ts";
export { AzapiProvider } from "./azapi.ts";
export { RoleAssignment, UserAssignedIdentity, type ManagedIdentity, type PrincipalType } from "./azurerm/access.ts";
export { ActionGroup } from "./azurerm/monitoring.ts";
export { AzurermProvider } from "./azurerm/provider.ts";
export { ResourceGroup } from "./azurerm/resource-group.ts";
export { CandidateApp, type CandidateAppProps } from "./candidate-app.ts";
export { CandidateJob, type CandidateJobProps } from "./candidate-job.ts";
export type { CandidateProps, RegistryReference } from "./candidate-props.ts";
export {
  ContainerEnvironment,
  type ContainerEnvironmentProps,
  type ContainerEnvironmentReference,
} from "./container-environment.ts";
export { ElectionAlerts, type ElectionAlertsProps } from "./election-alerts.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseContainer, type Grantee, type LeaseContainerProps, type ResourceGroupReference } from "./lease-container.ts";
export { RunAlerts, type RunAlertsProps } from "./run-alerts.ts";
export type { ScheduledRuns } from "./scheduled-runs.ts";
export type { StorageMetric } from "./storage-metric.ts";
export { synthesize } from "@leasehold/infra-terrain";
