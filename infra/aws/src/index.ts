export { CandidateService, type CandidateServiceProps } from "./candidate-service.ts";
export { ElectionAlarms, type ElectionAlarmsProps } from "./election-alarms.ts";
export { LeaderScheduledFunction, type LeaderScheduledFunctionProps } from "./leader-scheduled-function.ts";
export { LeaseTable, TABLE_KEYS, type ILeaseTable, type LeaseTableProps } from "./lease-table.ts";
export { OCCURRENCE_TTL_ATTRIBUTE } from "./table-safety.ts";
