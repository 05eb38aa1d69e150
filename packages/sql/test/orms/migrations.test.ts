/** The code of orms.md that migrates once per deployment, by the tools themselves. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OccurrenceOutcome } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { drizzle } from "drizzle-orm/node-postgres";
import knexOf from "knex";
import { Pool } from "pg";
import { expect } from "vitest";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { describeDatabases, type SqlWorld } from "../sql-world.ts";
import * as onDrizzle from "./drizzle.ts";
import * as onKnex from "./knex.ts";

/** Makes a replica of the application, which migrates with its own connections. */
type Replica = (world: SqlWorld, store: SqlLeaseStore) => Promise<OccurrenceOutcome<unknown>>;

const withKnex: Replica = async (world, store) => {
  const migrationSource = {
    getMigrations: () => Promise.resolve(["1"]),
    getMigrationName: String,
    getMigration: () =>
      Promise.resolve({
        up: (knex: knexOf.Knex) => knex.schema.createTable("migrated", (table) => void table.integer("n")),
        down: (knex: knexOf.Knex) => knex.schema.dropTable("migrated"),
      }),
  };
  const knex = knexOf({ client: "pg", connection: world.place, pool: { min: 0, max: 2 }, migrations: { migrationSource } });
  world.onEnd(() => knex.destroy());
  return await onKnex.migrateOnce(knex, store, world.election);
};

const withDrizzle: Replica = async (world, store) => {
  const folder = await memoryFolder("drizzle-");
  world.onEnd(() => rm(folder, { recursive: true, force: true }));
  const entries = [{ idx: 0, version: "7", when: 1, tag: "0000_migrated", breakpoints: true }];
  await mkdir(join(folder, "meta"));
  await writeFile(join(folder, "meta/_journal.json"), JSON.stringify({ version: "7", dialect: "postgresql", entries }));
  await writeFile(join(folder, "0000_migrated.sql"), "CREATE TABLE migrated (n integer);");
  const pool = new Pool({ connectionString: world.place, max: 2 });
  world.onEnd(() => pool.end());
  return await onDrizzle.migrateOnce(drizzle(pool), store, world.election, folder);
};

await describeDatabases(["postgres"], (test) => {
  test.for([
    ["Knex", withKnex],
    ["Drizzle", withDrizzle],
  ] as const)(
    "of three replicas that begin at once, one migrates with %s, and the others wait for it",
    async ([, begin], { world }) => {
      const replicas = [world.store(), world.store(), world.store()];
      await replicas[0]?.migrate();
      await world.run("DROP TABLE IF EXISTS migrated");
      const outcomes = await Promise.all(replicas.map(async (store) => await begin(world, store)));
      expect(outcomes.filter(({ ran }) => ran)).toHaveLength(1);
      expect(outcomes.filter((outcome) => !outcome.ran && outcome.reason === "done")).toHaveLength(2);
      await expect(world.run("SELECT * FROM migrated")).resolves.toEqual([]);
    },
  );
});
