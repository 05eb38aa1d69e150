/**
 * Runs in the installed example, which has the ORMs. Three replicas migrate at once, by the code of orms.md. Prints their outcomes for
 * each tool, as a line of JSON. A second migration would fail, because its table exists.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { oncePerOccurrence } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import knexOf from "knex";
import { Pool } from "pg";

const url = process.env["DATABASE_URL"];
const migrationsFolder = "migrations";
const entries = [{ idx: 0, version: "7", when: 1, tag: "0000_migrated", breakpoints: true }];
await mkdir(`${migrationsFolder}/meta`, { recursive: true });
await writeFile(`${migrationsFolder}/meta/_journal.json`, JSON.stringify({ version: "7", dialect: "postgresql", entries }));
await writeFile(`${migrationsFolder}/0000_migrated.sql`, "CREATE TABLE by_drizzle (n integer);");
const migrationSource = {
  getMigrations: async () => ["1"],
  getMigrationName: String,
  getMigration: async () => ({
    up: (knex) => knex.schema.createTable("by_knex", (table) => void table.integer("n")),
    down: (knex) => knex.schema.dropTable("by_knex"),
  }),
};

const REPLICAS = {
  Knex(store, version) {
    const knex = knexOf({ client: "pg", connection: url, migrations: { migrationSource } });
    return oncePerOccurrence({ store, name: "migrate", key: version }, () => knex.migrate.latest());
  },
  Drizzle(store, version) {
    const db = drizzle(new Pool({ connectionString: url }));
    return oncePerOccurrence({ store, name: "migrate", key: version }, () => migrate(db, { migrationsFolder }));
  },
};

for (const [name, replica] of Object.entries(REPLICAS)) {
  const stores = [1, 2, 3].map(() => new SqlLeaseStore({ postgres: url }));
  const outcomes = await Promise.all(stores.map((store) => replica(store, name)));
  console.log(JSON.stringify({ name, outcomes: outcomes.map(({ ran, reason }) => (ran ? "ran" : reason)).toSorted() }));
}
process.exit(0);
