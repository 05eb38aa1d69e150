import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, serial } from "drizzle-orm/pg-core";
import { Pool } from "pg";
import { lead, store, url } from "./lead.ts";

const bills = pgTable("bills", { id: serial("id").primaryKey(), term: integer("term").notNull() });
const pool = new Pool({ connectionString: url });
const db = drizzle(pool);

await lead(
  async (leadership) => {
    await db.transaction(async (tx) => {
      const { text, values } = store.fenceSql(leadership);
      // Drizzle numbers the placeholders itself.
      const parts = text.split(/\$\d/).map(sql.raw);
      await tx.execute(sql.join(parts.flatMap((part, index) => (index === 0 ? [part] : [sql`${values[index - 1]}`, part]))));
      await tx.insert(bills).values({ term: leadership.term });
    });
  },
  () => pool.end(),
);
