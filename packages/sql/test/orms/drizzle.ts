import { oncePerOccurrence, type Leadership, type OccurrenceOutcome } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { sql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import { pgTable, text as textColumn } from "drizzle-orm/pg-core";

export const bills = pgTable("bills", { election: textColumn("election") });

export async function bill(db: NodePgDatabase, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  await db.transaction(async (tx) => {
    const { text, values } = store.fenceSql(leadership);
    const parts = text
      .split(/\$\d/)
      .map((part, index) => sql`${sql.raw(part)}${index < values.length ? sql`${values[index]}` : sql``}`);
    await tx.execute(sql.join(parts));
    await tx.insert(bills).values({ election: leadership.election });
  });
}

export async function migrateOnce(
  db: NodePgDatabase,
  store: SqlLeaseStore,
  version: string,
  migrationsFolder: string,
): Promise<OccurrenceOutcome<unknown>> {
  return await oncePerOccurrence({ store, name: "migrate", key: version }, () => migrate(db, { migrationsFolder }));
}
