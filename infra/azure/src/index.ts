export { AzapiProvider } from "./azapi.ts";
export { UserAssignedIdentity, type ManagedIdentity } from "./azurerm/access.ts";
export { AzurermProvider } from "./azurerm/provider.ts";
export { CandidateApp, type CandidateAppProps } from "./candidate-app.ts";
export { ElectionAlerts, type ElectionAlertsProps } from "./election-alerts.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseContainer, type LeaseContainerProps } from "./lease-container.ts";
export { RunAlerts, type RunAlertsProps } from "./run-alerts.ts";
export { synthesize } from "@leasehold/infra-terrain";
