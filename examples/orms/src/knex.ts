import knexOf from "knex";
import { lead, store, url } from "./lead.ts";

const knex = knexOf({ client: "pg", connection: url });

await lead(
  async (leadership) => {
    await knex.transaction(async (trx) => {
      const { text, values } = store.fenceSql(leadership);
      // Knex numbers the placeholders itself.
      await trx.raw(text.replace(/\$\d/g, "?"), [...values]);
      await trx("bills").insert({ term: leadership.term });
    });
  },
  () => knex.destroy(),
);
