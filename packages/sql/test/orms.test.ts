/**
 * The page orms.md: its code for MySQL and Neon, and ORMs that are given to the store. The long tests of examples/orms have the ORMs
 * themselves, and the page's code for them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Leadership } from "@leasehold/core";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import type { NeonQueryFunction } from "@neondatabase/serverless";
import { createPool, type Pool } from "mysql2/promise";
import { expect, test as plainTest } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { NEON_HTTP } from "./drivers/postgres-drivers.ts";
import { describeDatabases, type SqlWorld } from "./sql-world.ts";

type Bill = (store: SqlLeaseStore, leadership: Leadership) => Promise<void>;

async function billOnMySql(pool: Pool, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  const { text, values } = store.fenceSql(leadership);
  await pool.query(`INSERT INTO bills SELECT ? FROM (SELECT 1) AS one WHERE (${text}) = 1`, [leadership.election, ...values]);
}

async function billOnNeon(sql: NeonQueryFunction<false, false>, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  const { text, values } = store.fenceSql(leadership);
  await sql.transaction([sql.query(text, [...values]), sql`INSERT INTO bills VALUES (${leadership.election})`]);
}

/** Proves that a write passes for a leader, and not for one that was frozen until another one led. */
async function guards(world: SqlWorld, bill: Bill): Promise<void> {
  const bills = async (): Promise<readonly unknown[]> =>
    await world.run("SELECT * FROM bills WHERE election = ?", [world.election]);
  await world.run("CREATE TABLE IF NOT EXISTS bills (election VARCHAR(100))");
  const store = world.store();
  const leadership = (await world.win(store)) as unknown as Leadership;
  await bill(store, leadership);
  await expect(bills()).resolves.toHaveLength(1);
  await world.store().break(world.election, { reason: "frozen", immediate: true });
  await world.win(world.store(), { candidateId: "b" });
  expect(isFenced(await failureOf(bill(store, leadership)))).toBe(true);
  await expect(bills()).resolves.toHaveLength(1);
}

await describeDatabases(["mysql"], (test) => {
  test("on MySQL the fence is a condition of the write", async ({ world }) => {
    const pool = createPool(world.place);
    world.onEnd(() => pool.end());
    await guards(world, async (...leading) => billOnMySql(pool, ...leading));
  });
});

await describeDatabases(["postgres"], (test) => {
  test("on Neon by HTTP the fence is the first of the transaction's statements", async ({ world }) => {
    const standIn = await NEON_HTTP.serve!(world.place);
    world.onEnd(async () => standIn[Symbol.asyncDispose]());
    const { handle } = NEON_HTTP.open({ host: "127.0.0.1", port: standIn.port, schema: "public" });
    await guards(world, async (...leading) => billOnNeon(handle as NeonQueryFunction<false, false>, ...leading));
  });
});

// Knex is a function.
plainTest.for([
  ["Kysely, Drizzle, TypeORM and Sequelize", () => ({ transaction: () => undefined })],
  ["Knex", () => Object.assign(() => undefined, { transaction: () => undefined })],
  ["Prisma", () => ({ $transaction: () => undefined })],
] as const)("an object like that of %s is refused as a handle, and the error names the pool below it", ([, make]) => {
  for (const kind of ["postgres", "mysql"])
    expect(() => new SqlLeaseStore({ [kind]: make() } as never)).toThrow(/is an ORM or a query builder: give the store the pool/);
});

plainTest("the code of orms.md for MySQL and Neon stands in this file", () => {
  const flat = (file: string): string => readFileSync(join(import.meta.dirname, file), "utf8").replace(/\s+/g, " ");
  const blocks = [...flat("../orms.md").matchAll(/```ts (const \{ text.*?) ```/g)].map(([, block = ""]) => block);
  expect(blocks).toHaveLength(2);
  const here = flat("orms.test.ts");
  for (const block of blocks) expect(here).toContain(block);
});
