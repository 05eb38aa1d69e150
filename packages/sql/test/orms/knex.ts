import { oncePerOccurrence, type Leadership, type OccurrenceOutcome } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import type { Knex } from "knex";

export async function bill(knex: Knex, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  await knex.transaction(async (trx) => {
    const { text, values } = store.fenceSql(leadership);
    // Knex numbers the placeholders itself.
    await trx.raw(text.replace(/\$\d/g, "?"), [...values]);
    await trx("bills").insert({ election: leadership.election });
  });
}

export async function billOnMySql(knex: Knex, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  const { text, values } = store.fenceSql(leadership);
  await knex.raw(`INSERT INTO bills SELECT ? FROM (SELECT 1) AS one WHERE (${text}) = 1`, [leadership.election, ...values]);
}

export async function migrateOnce(knex: Knex, store: SqlLeaseStore, version: string): Promise<OccurrenceOutcome<unknown>> {
  return await oncePerOccurrence({ store, name: "migrate", key: version }, () => knex.migrate.latest());
}
