export { CandidateWorker, type CandidateWorkerProps } from "./candidate-worker.ts";
export { ElectionAlerts, type ElectionAlertsProps } from "./election-alerts.ts";
export { GoogleProvider } from "./google-provider.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseBucket, type LeaseBucketProps } from "./lease-bucket.ts";
export { LeaseDatabase, type LeaseDatabaseProps } from "./lease-database.ts";
export { RunAlerts, type RunAlertsProps } from "./run-alerts.ts";
export { synthesize } from "../../terraform.ts";
