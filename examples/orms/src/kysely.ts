import { CompiledQuery, Kysely, PostgresDialect, type Generated } from "kysely";
import { Pool } from "pg";
import { lead, store, url } from "./lead.ts";

interface Tables {
  readonly bills: { readonly id: Generated<number>; readonly term: number };
}

const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }) });

await lead(
  async (leadership) => {
    await db.transaction().execute(async (trx) => {
      const { text, values } = store.fenceSql(leadership);
      await trx.executeQuery(CompiledQuery.raw(text, [...values]));
      await trx.insertInto("bills").values({ term: leadership.term }).execute();
    });
  },
  () => db.destroy(),
);
