import type { Leadership } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { CompiledQuery, type Kysely } from "kysely";

interface Tables {
  readonly bills: { readonly election: string };
}

export async function bill(db: Kysely<Tables>, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { text, values } = store.fenceSql(leadership);
    await trx.executeQuery(CompiledQuery.raw(text, [...values]));
    await trx.insertInto("bills").values({ election: leadership.election }).execute();
  });
}
