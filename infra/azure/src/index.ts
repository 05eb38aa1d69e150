export type { ManagedIdentity } from "./access.ts";
export { CandidateApp, type CandidateAppProps } from "./candidate-app.ts";
export { ElectionAlerts, type ElectionAlertsProps } from "./election-alerts.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseContainer, type LeaseContainerProps } from "./lease-container.ts";
export { AzapiProvider, AzurermProvider } from "./providers.ts";
export { RunAlerts, type RunAlertsProps } from "./run-alerts.ts";
export { synthesize } from "../../terraform.ts";
