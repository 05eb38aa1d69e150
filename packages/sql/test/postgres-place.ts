import { systemClock, type Clock } from "@leasehold/core/provider";
import { SqlLeaseStore, type PostgresHandle } from "@leasehold/sql";
import { Pool } from "pg";
import { startPostgres, type Postgres } from "@leasehold/test-kit/backends/postgres";
import { postgres } from "@leasehold/test-kit/stores/postgres";
import type { Driver, Handle } from "./drivers/postgres-drivers.ts";
import { ODD_TABLE, onOddTables } from "./odd-names.ts";
import type { Database, SqlServer } from "./sql-place.ts";

/** Starts a server whose stores use a URL, or handles of that driver. */
export async function startPostgresPlaces(driver?: Driver): Promise<SqlServer> {
  const server = await startPostgres();
  const admin = new Pool({ connectionString: server.url });
  return {
    open: (name) => openSchema(server, admin, name, driver),
    async stop() {
      await admin.end();
      await server.stop();
    },
  };
}

/** Opens a schema, because a database of its own takes longer to create. */
async function openSchema(server: Postgres, admin: Pool, name: string, driver: Driver | undefined): Promise<Database> {
  const urlVia = (viaPort: number): string =>
    `postgresql://postgres@127.0.0.1:${viaPort}/postgres?options=${encodeURIComponent(`-c search_path=${name}`)}`;
  const handles: Handle[] = [];
  const named = driver ? { table: `${name}.${ODD_TABLE}` } : {};
  const serving = await driver?.serve?.(urlVia(server.port));
  const port = serving?.port ?? server.port;
  const store = (viaPort: number, clock: Clock): SqlLeaseStore => {
    if (!driver) return new SqlLeaseStore({ postgres: urlVia(viaPort), clock });
    const handle = driver.open({ host: "127.0.0.1", port: viaPort, schema: name });
    handles.push(handle);
    return new SqlLeaseStore({ postgres: handle.handle as PostgresHandle, clock, ...named });
  };
  await admin.query(`CREATE SCHEMA ${name}`);
  await using owner = new SqlLeaseStore({ postgres: urlVia(server.port), clock: systemClock, ...named });
  await owner.migrate();
  return {
    port,
    store,
    documents: async () => {
      await admin.query(`CREATE TABLE ${name}.documents (name text PRIMARY KEY, content text NOT NULL)`);
      return await postgres.open({ store: "postgres", url: urlVia(server.port), ...named });
    },
    run: async (sql, values) => {
      let count = 0;
      const numbered = sql.replaceAll("?", () => `$${(count += 1)}`);
      const placed = driver ? onOddTables(numbered, `${name}.`, '"') : numbered.replace(/leasehold_\w+/, `${name}.$&`);
      return (await admin.query<Record<string, unknown>>(placed, [...values])).rows;
    },
    earlier: (column, ms) => `${column} - make_interval(secs => ${ms / 1_000})`,
    [Symbol.asyncDispose]: async () => {
      for (const handle of handles) await handle[Symbol.asyncDispose]();
      await serving?.[Symbol.asyncDispose]();
      await admin.query(`DROP SCHEMA ${name} CASCADE`);
    },
  };
}
