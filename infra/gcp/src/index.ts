export { CandidateWorker, type CandidateWorkerProps } from "./candidate-worker.ts";
export type { DatabaseMetric } from "./database-metric.ts";
export { GoogleProvider, ProjectIamMember, ServiceAccount } from "./google.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseDatabase, type Grantee, type LeaseDatabaseProps, type TimeToLive } from "./lease-database.ts";
