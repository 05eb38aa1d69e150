/**
 * Runs the code of orms.md as a user has it: `npm run drivers` copies this folder beside the installed tarballs, ORMs and client of
 * Prisma. A leader of each ORM writes once. The same leader, whose lease was broken, is refused.
 */
import assert from "node:assert/strict";
import { Elector } from "@leasehold/core";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import { Pool } from "pg";
import { CLIENTS, openPrisma } from "./clients.ts";

const [, , url = "", clientOfPrisma = ""] = process.argv;
const pool = new Pool({ connectionString: url });
const store = new SqlLeaseStore({ postgres: pool });
await store.migrate();
await pool.query("CREATE TABLE bills (election text PRIMARY KEY)");
for (const [election, open] of [...Object.entries(CLIENTS), ["Prisma", async () => openPrisma(clientOfPrisma, url)] as const]) {
  const { bill, table = "bills", close } = await open(url);
  const leadership = await new Elector({ store, election, logger: false }).campaign();
  await bill(store, leadership);
  await store.break(election, { reason: "frozen", immediate: true });
  const refusal: unknown = await bill(store, leadership).catch((error: unknown) => error);
  assert.ok(isFenced(refusal), `${election}: ${String(refusal)}`);
  const { rowCount } = await pool.query(`SELECT 1 FROM ${table} WHERE election = $1`, [election]);
  assert.equal(rowCount, 1, election);
  await close();
  console.log(`${election}: a leader has written, and a frozen one was refused`);
}
process.exit(0);
