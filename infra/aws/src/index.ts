export { CandidateImage, type CandidateImageProps } from "./candidate-image.ts";
export { CandidateService, type CandidateServiceProps } from "./candidate-service.ts";
export { ElectionAlarms, type ElectionAlarmsProps } from "./election-alarms.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseTable, TABLE_KEYS, type LeaseTableProps } from "./lease-table.ts";
export type { LeaseTableAttributes } from "./imported-lease-table.ts";
export type { ILeaseTable } from "./lease-table-base.ts";
export { ScheduledFunctionAlarms, type ScheduledFunctionAlarmsProps } from "./scheduled-function-alarms.ts";
export { OCCURRENCE_TTL_ATTRIBUTE } from "./table-safety.ts";
