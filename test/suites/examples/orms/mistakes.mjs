/**
 * Runs in the installed example, which has the ORMs. A frozen leader makes the mistakes that orms.md names. Prints a line of JSON for each one:
 * how many rows it has committed, and its error.
 */
import { Elector } from "@leasehold/core";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import { drizzle } from "drizzle-orm/node-postgres";
import knexOf from "knex";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { DataTypes, Sequelize } from "sequelize";
import { DataSource } from "typeorm";

const url = process.env["DATABASE_URL"];
const pool = new Pool({ connectionString: url });
const store = new SqlLeaseStore({ postgres: url });
const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
const knex = knexOf({ client: "pg", connection: url });
const sequelize = new Sequelize(url, { logging: false });
const Bill = sequelize.define("bills", { term: DataTypes.INTEGER }, { timestamps: false });

const byKysely = (leadership) => {
  const { text, values } = store.fenceSql(leadership);
  return CompiledQuery.raw(text, [...values]);
};
const byKnex = (trx, leadership) => {
  const { text, values } = store.fenceSql(leadership);
  return trx.raw(text.replace(/\$\d/g, "?"), [...values]);
};
const bySequelize = (leadership, options) => {
  const { text, values } = store.fenceSql(leadership);
  return sequelize.query(text, { bind: [...values], ...options });
};
const row = { term: 1 };

const MISTAKES = {
  "Kysely as a handle": () => new SqlLeaseStore({ postgres: db }),
  "Knex as a handle": () => new SqlLeaseStore({ postgres: knex }),
  "Drizzle as a handle": () => new SqlLeaseStore({ postgres: drizzle(pool) }),
  "TypeORM as a handle": () => new SqlLeaseStore({ postgres: new DataSource({ type: "postgres", url }) }),
  "Sequelize as a handle": () => new SqlLeaseStore({ postgres: sequelize }),
  "fence() with Kysely": (leadership) => db.transaction().execute((trx) => store.fence(leadership, trx)),
  "fence() with Knex": (leadership) => knex.transaction((trx) => store.fence(leadership, trx)),
  "fence() with Drizzle": (leadership) => drizzle(pool).transaction((tx) => store.fence(leadership, tx)),
  "fence() with Sequelize": (leadership) => sequelize.transaction((transaction) => store.fence(leadership, transaction)),
  "Kysely, no values": (leadership) =>
    db.transaction().execute((trx) => trx.executeQuery(CompiledQuery.raw(store.fenceSql(leadership).text))),
  "Knex, placeholders as they are": (leadership) => {
    const { text, values } = store.fenceSql(leadership);
    return knex.transaction((trx) => trx.raw(text, [...values]));
  },
  "Kysely, swallowed": (leadership) =>
    db.transaction().execute(async (trx) => {
      await trx.insertInto("bills").values(row).execute();
      await trx.executeQuery(byKysely(leadership)).catch(() => undefined);
    }),
  "Knex, swallowed": (leadership) =>
    knex.transaction(async (trx) => {
      await byKnex(trx, leadership).catch(() => undefined);
      await trx("bills").insert(row);
    }),
  "Kysely, forgotten await": (leadership) =>
    db.transaction().execute(async (trx) => {
      void trx.executeQuery(byKysely(leadership)).catch(() => undefined);
      await trx.insertInto("bills").values(row).execute();
    }),
  "hole: Knex, forgotten await": (leadership) =>
    knex.transaction(async (trx) => {
      void byKnex(trx, leadership);
      await trx("bills").insert(row);
    }),
  "hole: Kysely, swallowed at a savepoint": async (leadership) => {
    const trx = await db.startTransaction().execute();
    const nested = await trx.savepoint("nested").execute();
    await nested.executeQuery(byKysely(leadership)).catch(() => undefined);
    await nested.rollbackToSavepoint("nested").execute();
    await trx.insertInto("bills").values(row).execute();
    await trx.commit().execute();
  },
  "hole: Knex, swallowed in a nested transaction": (leadership) =>
    knex.transaction(async (trx) => {
      await trx.transaction((nested) => byKnex(nested, leadership)).catch(() => undefined);
      await trx("bills").insert(row);
    }),
  "hole: Kysely, a write by another connection": (leadership) =>
    db.transaction().execute(async (trx) => {
      await db.insertInto("bills").values(row).execute();
      await trx.executeQuery(byKysely(leadership));
    }),
  "hole: Sequelize, a write without the transaction": (leadership) =>
    sequelize.transaction(async (transaction) => {
      await Bill.create(row);
      await bySequelize(leadership, { transaction });
    }),
};

let count = 0;
for (const [name, mistake] of Object.entries(MISTAKES)) {
  const election = `mistake-${(count += 1)}`;
  const leadership = await new Elector({ store, election, logger: false }).campaign();
  await store.break(election, { reason: "frozen", immediate: true });
  await pool.query("TRUNCATE bills");
  const error = await Promise.try(mistake, leadership).then(
    () => undefined,
    (thrown) => thrown,
  );
  const { rowCount } = await pool.query("SELECT 1 FROM bills");
  console.log(JSON.stringify({ name, rows: rowCount, isFenced: isFenced(error), error: error?.message ?? "" }));
}
process.exit(0);
