/** The code of orms.md, run against real databases: a leader writes, and a frozen leader does not. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import type { Leadership } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import type { NeonQueryFunction } from "@neondatabase/serverless";
import { drizzle } from "drizzle-orm/node-postgres";
import knexOf, { type Knex } from "knex";
import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import { expect, test as plainTest } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { NEON_HTTP } from "../drivers/postgres-drivers.ts";
import { describeDatabases, type SqlWorld } from "../sql-world.ts";
import { CLIENTS, openPrisma, type Bill, type Client } from "./clients.ts";
import * as onKnex from "./knex.ts";
import * as onNeon from "./neon-http.ts";

async function bills(world: SqlWorld, table = "bills"): Promise<readonly unknown[]> {
  return await world.run(`SELECT * FROM ${table} WHERE election = ?`, [world.election]);
}

/** Leads, and returns a leader whose lease was broken while it was frozen. @param whileLeading is called before that. */
async function frozen(world: SqlWorld, whileLeading: (leadership: Leadership) => Promise<void>): Promise<Leadership> {
  await world.run("CREATE TABLE IF NOT EXISTS bills (election VARCHAR(100))");
  const lease: Lease = await world.win(world.store());
  const leadership = lease as unknown as Leadership;
  await whileLeading(leadership);
  await world.store().break(world.election, { reason: "frozen", immediate: true });
  await world.win(world.store(), { candidateId: "b" });
  return leadership;
}

/** Proves that a write passes for a leader alone. */
async function guards(world: SqlWorld, bill: Bill, table?: string): Promise<void> {
  const store = world.store();
  const leadership = await frozen(world, async (leading) => {
    await bill(store, leading);
    await expect(bills(world, table)).resolves.toHaveLength(1);
  });
  expect(isFenced(await failureOf(bill(store, leadership)))).toBe(true);
  await expect(bills(world, table)).resolves.toHaveLength(1);
}

async function guardsBy(world: SqlWorld, { bill, table, close }: Client): Promise<void> {
  world.onEnd(close);
  await guards(world, bill, table);
}

function poolOf(world: SqlWorld): Pool {
  const pool = new Pool({ connectionString: world.place, max: 2 });
  world.onEnd(() => pool.end());
  return pool;
}

function knexOn(world: SqlWorld): Knex {
  const knex = knexOf({ client: world.kind === "mysql" ? "mysql2" : "pg", connection: world.place, pool: { min: 0, max: 2 } });
  world.onEnd(() => knex.destroy());
  return knex;
}

await describeDatabases(["postgres"], (test) => {
  test.for(Object.entries(CLIENTS))("with %s", async ([, open], { world }) => {
    await guardsBy(world, await open(world.place));
  });

  test("fence() with an object of an ORM names fenceSql(), and sends nothing", async ({ world }) => {
    const sequelize = new Sequelize(world.place, { logging: false, pool: { max: 2 } });
    world.onEnd(() => sequelize.close());
    const store = world.store();
    const lease = await world.win(store);
    await expect(store.fence(lease, sequelize as never)).rejects.toThrow(/fenceSql\(\) instead/);
    const db = new Kysely({ dialect: new PostgresDialect({ pool: poolOf(world) }) });
    await db.transaction().execute(async (trx) => {
      await expect(store.fence(lease, trx as never)).rejects.toThrow(/fenceSql\(\) instead/);
    });
  });

  // `npm run drivers` generates a client.
  const generated = process.env["LEASEHOLD_PRISMA"];
  if (generated !== undefined)
    test("with Prisma", async ({ world }) => {
      await guardsBy(world, await openPrisma(generated, world.place));
    });

  test("with Neon by HTTP", async ({ world }) => {
    const standIn = await NEON_HTTP.serve!(world.place);
    world.onEnd(async () => standIn[Symbol.asyncDispose]());
    const { handle } = NEON_HTTP.open({ host: "127.0.0.1", port: standIn.port, schema: "public" });
    const sql = handle as NeonQueryFunction<false, false>;
    await guards(world, async (store, leadership) => onNeon.bill(sql, store, leadership));
  });

  test("a hole: Knex sends nothing until it is awaited, so a forgotten await lets a frozen leader write", async ({ world }) => {
    const knex = knexOn(world);
    const store = world.store();
    const leadership = await frozen(world, () => Promise.resolve());
    await knex.transaction(async (trx) => {
      const { text, values } = store.fenceSql(leadership);
      void trx.raw(text.replace(/\$\d/g, "?"), [...values]);
      await trx("bills").insert({ election: world.election });
    });
    await expect(bills(world)).resolves.toHaveLength(1);
  });

  test("fencedTransaction() has no such hole, because it sends the fence itself", async ({ world }) => {
    const store = world.store(poolOf(world));
    const leadership = await frozen(world, () => Promise.resolve());
    expect(isFenced(await failureOf(store.fencedTransaction(leadership, () => undefined)))).toBe(true);
  });
});

await describeDatabases(["mysql"], (test) => {
  test("with Knex on MySQL, where the fence is a condition of the write", async ({ world }) => {
    const knex = knexOn(world);
    await guards(world, async (store, leadership) => onKnex.billOnMySql(knex, store, leadership));
  });
});

plainTest.for([
  ["Kysely", () => new Kysely({ dialect: new PostgresDialect({ pool: new Pool() }) })],
  ["Knex", () => knexOf({ client: "pg" })],
  ["Drizzle", () => drizzle(new Pool())],
  ["TypeORM", () => new DataSource({ type: "postgres" })],
  ["Sequelize", () => new Sequelize("postgres://localhost/app")],
  ["Prisma", () => ({ $transaction: () => undefined })],
] as const)("%s as a handle is refused, and the error names the pool below it", ([, make]) => {
  for (const kind of ["postgres", "mysql"])
    expect(() => new SqlLeaseStore({ [kind]: make() } as never)).toThrow(/is an ORM or a query builder: give the store the pool/);
});

plainTest("each block of orms.md stands in a file that runs here", () => {
  const flat = (text: string): string => text.replace(/\s+/g, " ").trim();
  const page = readFileSync(join(import.meta.dirname, "../../orms.md"), "utf8");
  const files = ["kysely.ts", "knex.ts", "drizzle.ts", "typeorm.ts", "neon-http.ts", "prisma.ts", "sequelize.ts"].map((name) =>
    flat(readFileSync(join(import.meta.dirname, name), "utf8")),
  );
  const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, block = ""]) => flat(block));
  expect(blocks.length).toBeGreaterThan(4);
  for (const block of blocks)
    expect(
      files.some((file) => file.includes(block)),
      block,
    ).toBe(true);
});
