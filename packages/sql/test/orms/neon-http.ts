import type { Leadership } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import type { NeonQueryFunction } from "@neondatabase/serverless";

export async function bill(sql: NeonQueryFunction<false, false>, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  const { text, values } = store.fenceSql(leadership);
  await sql.transaction([sql.query(text, [...values]), sql`INSERT INTO bills VALUES (${leadership.election})`]);
}
