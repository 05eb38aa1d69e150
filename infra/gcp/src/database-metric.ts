import type { LeaseDatabase } from "./lease-database.ts";

/** A metric of Cloud Monitoring, by the names that an alert policy or a chart takes. */
export interface DatabaseMetric {
  readonly type: string;
  /** The filter that selects the metric of this database only. */
  readonly filter: string;
}

/** https://cloud.google.com/monitoring/api/metrics_gcp_d_h#gcp-firestore */
export function databaseMetric({ databaseId }: LeaseDatabase, name: string): DatabaseMetric {
  const type = `firestore.googleapis.com/${name}`;
  return {
    type,
    filter: `metric.type = "${type}" AND resource.type = "firestore.googleapis.com/Database" AND resource.labels.database_id = "${databaseId}"`,
  };
}
