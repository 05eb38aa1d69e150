/**
 * Runs the code of orms.md as a user has it: `npm run drivers` copies this folder beside the installed tarballs, ORMs and client of
 * Prisma. A leader of each ORM writes once. The same leader, whose lease was broken, is refused.
 */
import assert from "node:assert/strict";
import { Elector, type Leadership } from "@leasehold/core";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import { drizzle } from "drizzle-orm/node-postgres";
import knexOf from "knex";
import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import * as onDrizzle from "./drizzle.ts";
import * as onKnex from "./knex.ts";
import * as onKysely from "./kysely.ts";
import * as onPrisma from "./prisma.ts";
import * as onSequelize from "./sequelize.ts";
import * as onTypeOrm from "./typeorm.ts";

const [, , url = "", clientOfPrisma = ""] = process.argv;
const pool = new Pool({ connectionString: url });
const store = new SqlLeaseStore({ postgres: pool });
await store.migrate();
await pool.query("CREATE TABLE bills (election text PRIMARY KEY)");

const kysely = new Kysely<{ bills: { election: string } }>({ dialect: new PostgresDialect({ pool }) });
const knex = knexOf({ client: "pg", connection: url });
const dataSource = new DataSource({ type: "postgres", url, entities: [onTypeOrm.Bill], synchronize: true });
await dataSource.initialize();
const sequelize = new Sequelize(url, { logging: false });
const prisma = ((await import(clientOfPrisma)) as { open(url: string): onPrisma.PrismaClient }).open(url);

const BILLS: Readonly<Record<string, (leadership: Leadership) => Promise<void>>> = {
  Kysely: async (leadership) => onKysely.bill(kysely, store, leadership),
  Knex: async (leadership) => onKnex.bill(knex, store, leadership),
  Drizzle: async (leadership) => onDrizzle.bill(drizzle(pool), store, leadership),
  TypeORM: async (leadership) => onTypeOrm.bill(dataSource, store, leadership),
  Sequelize: async (leadership) => onSequelize.bill(sequelize, store, leadership),
  Prisma: async (leadership) => onPrisma.bill(prisma, store, leadership),
};
for (const [election, bill] of Object.entries(BILLS)) {
  const leadership = await new Elector({ store, election, logger: false }).campaign();
  await bill(leadership);
  await store.break(election, { reason: "frozen", immediate: true });
  const refusal: unknown = await bill(leadership).catch((error: unknown) => error);
  assert.ok(isFenced(refusal), `${election}: ${String(refusal)}`);
  const table = election === "TypeORM" ? "typeorm_bills" : "bills";
  const { rowCount } = await pool.query(`SELECT 1 FROM ${table} WHERE election = $1`, [election]);
  assert.equal(rowCount, 1, election);
  console.log(`${election}: a leader has written, and a frozen one was refused`);
}
process.exit(0);
