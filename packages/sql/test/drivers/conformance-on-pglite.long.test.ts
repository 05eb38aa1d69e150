/** Every case on PGlite, one after another: it has one session, whose schema each case sets. */
import { PGlite } from "@electric-sql/pglite";
import { isLeaseholdError } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { runOnServer } from "../run-on-server.ts";
import type { Database } from "../sql-place.ts";

const NO_NETWORK = "nothing lies between a store and PGlite, which is in its process";
const UPSERT = "INSERT INTO documents VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET content = EXCLUDED.content";

await runOnServer("postgres (PGlite)", Promise.resolve(undefined), {
  lacks: { faults: NO_NETWORK, duplicates: NO_NETWORK, outages: NO_NETWORK },
  skips: { "names-round-trip": "PGlite drops U+FEFF where a text begins with it" },
  concurrently: false,
  async start() {
    const database = await PGlite.create();
    return { open: (name) => openSchema(database, name), stop: () => database.close() };
  },
});

async function openSchema(database: PGlite, name: string): Promise<Database> {
  await database.exec(`CREATE SCHEMA ${name}; SET search_path TO ${name}`);
  const owner = new SqlLeaseStore({ postgres: database });
  await owner.migrate();
  const read = async (document: string): Promise<string> =>
    (await database.query<{ content: string }>("SELECT content FROM documents WHERE name = $1", [document])).rows[0]?.content ??
    "";
  return {
    port: 0,
    store: (_, clock) => new SqlLeaseStore({ postgres: database, clock }),
    documents: async () => {
      await database.exec("CREATE TABLE documents (name text PRIMARY KEY, content text NOT NULL)");
      return {
        store: owner,
        document: (document) => ({
          read: () => read(document),
          update: async (leadership, change) => {
            const content = change(await read(document));
            await owner.fencedTransaction(leadership, async (tx: PGlite) => void (await tx.query(UPSERT, [document, content])));
          },
          write: async (leadership, content) =>
            await owner.fencedTransaction(leadership, async (tx: PGlite) => void (await tx.query(UPSERT, [document, content]))),
        }),
        isRefusal: (error) => isLeaseholdError(error, "FENCED"),
        close: () => owner.close(),
      };
    },
    run: async (sql, values) => {
      let count = 0;
      return (
        await database.query<Record<string, unknown>>(
          sql.replaceAll("?", () => `$${(count += 1)}`),
          [...values],
        )
      ).rows;
    },
    earlier: (column, ms) => `${column} - make_interval(secs => ${ms / 1_000})`,
    [Symbol.asyncDispose]: async () => void (await database.exec(`DROP SCHEMA ${name} CASCADE`)),
  };
}
