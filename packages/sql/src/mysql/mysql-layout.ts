import { keyedNames } from "../layout.ts";
import type { Tables } from "../tables.ts";

/**
 * Returns a query of the unique indexes of the store's tables, in the form that `checkKeys` takes. An index on a prefix of a column
 * does not count.
 */
export function uniqueIndexes(tables: Tables): string {
  const names = keyedNames(tables);
  const schema = tables.schema === undefined ? "DATABASE()" : `'${tables.schema}'`;
  return `SELECT t.table_name AS table_name, t.engine AS engine, i.key_columns AS key_columns
FROM information_schema.tables t LEFT JOIN (
  SELECT table_name, GROUP_CONCAT(column_name ORDER BY column_name) AS key_columns FROM information_schema.statistics
  WHERE table_schema = ${schema} AND table_name IN (${names}) AND non_unique = 0
  GROUP BY table_name, index_name HAVING SUM(sub_part IS NOT NULL) = 0
) i ON i.table_name = t.table_name
WHERE t.table_schema = ${schema} AND t.table_type = 'BASE TABLE' AND t.table_name IN (${names})`;
}

/** Reads the settings that {@link mysqlWarnings} judges. MySQL says source and replica where MariaDB says master and slave. */
export const SETTINGS: readonly string[] = [
  `SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog') OR variable_name LIKE 'rpl\\_semi\\_sync\\_%'`,
  "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%\\_status'",
];

/** Semi-synchronous replication that waits so long before it becomes asynchronous counts as synchronous. */
const A_DAY_MS = 86_400_000;

export function mysqlWarnings(settings: ReadonlyMap<string, string>): string[] {
  const warnings: string[] = [];
  const flush = settings.get("innodb_flush_log_at_trx_commit");
  if (flush !== undefined && flush !== "1" && flush !== "3") {
    warnings.push(`innodb_flush_log_at_trx_commit is ${flush}: a crash of the server may lose acknowledged writes. Set it to 1.`);
  }
  const sync = settings.get("sync_binlog");
  if (settings.get("log_bin") === "ON" && sync !== "1") {
    warnings.push(
      `sync_binlog is ${sync ?? "unknown"}: a crash of the server's machine may lose acknowledged writes for its replicas. Set it to 1.`,
    );
  }
  for (const [name, replica] of [
    ["rpl_semi_sync_source", "replica"],
    ["rpl_semi_sync_master", "slave"],
  ] as const) {
    if (settings.get(`${name}_enabled`) === "ON") warnings.push(...semiSyncWarnings(settings, name, replica));
  }
  return warnings;
}

function semiSyncWarnings(settings: ReadonlyMap<string, string>, name: string, replica: string): string[] {
  const warnings: string[] = [];
  const timeoutMs = Number(settings.get(`${name}_timeout`));
  if (timeoutMs < A_DAY_MS) {
    warnings.push(
      `${name}_timeout is ${timeoutMs} ms: after so long without a replica, replication is asynchronous, and a failover loses acknowledged writes. Set it to 4294967295.`,
    );
  }
  if (settings.get(`${name}_wait_no_${replica}`) === "OFF") {
    warnings.push(`${name}_wait_no_${replica} is OFF: without a replica, replication is asynchronous at once. Set it to ON.`);
  }
  if (settings.get(`${name}_wait_point`) === "AFTER_COMMIT") {
    warnings.push(`${name}_wait_point is AFTER_COMMIT: others see a write before a replica has it. Set it to AFTER_SYNC.`);
  }
  if (settings.get(`${name}_status`) === "OFF") {
    warnings.push(`${name}_status is OFF: replication is asynchronous at present. Check that a replica is attached.`);
  }
  return warnings;
}
