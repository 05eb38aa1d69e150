import { systemClock, type Clock } from "@leasehold/core/provider";
import { SqlLeaseStore } from "@leasehold/sql";
import { Pool } from "pg";
import { postgresMissing, startPostgres, type Postgres } from "@leasehold/test-kit/backends/postgres";
import { postgres } from "@leasehold/test-kit/stores/postgres";
import { runOnServer, type Database } from "./sql-place.ts";

await runOnServer("postgres", postgresMissing(), {
  async start() {
    const server = await startPostgres();
    const admin = new Pool({ connectionString: server.url });
    return {
      open: (name) => openSchema(server, admin, name),
      async stop() {
        await admin.end();
        await server.stop();
      },
    };
  },
});

/** Opens a schema, because a database of its own takes longer to create. */
async function openSchema({ port }: Postgres, admin: Pool, name: string): Promise<Database> {
  const urlVia = (viaPort: number): string =>
    `postgresql://postgres@127.0.0.1:${viaPort}/postgres?options=${encodeURIComponent(`-c search_path=${name}`)}`;
  const store = (viaPort: number, clock: Clock): SqlLeaseStore => new SqlLeaseStore({ postgres: urlVia(viaPort), clock });
  await admin.query(`CREATE SCHEMA ${name}`);
  await using owner = store(port, systemClock);
  await owner.migrate();
  return {
    port,
    store,
    documents: async () => {
      await admin.query(`CREATE TABLE ${name}.documents (name text PRIMARY KEY, content text NOT NULL)`);
      return await postgres.open({ store: "postgres", url: urlVia(port) });
    },
    run: async (sql, values) => {
      let count = 0;
      const numbered = sql.replaceAll("?", () => `$${(count += 1)}`).replace(/leasehold_\w+/, `${name}.$&`);
      return (await admin.query<Record<string, unknown>>(numbered, [...values])).rows;
    },
    earlier: (column, ms) => `${column} - make_interval(secs => ${ms / 1_000})`,
    [Symbol.asyncDispose]: async () => void (await admin.query(`DROP SCHEMA ${name} CASCADE`)),
  };
}
