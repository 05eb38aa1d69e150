import { systemClock, type Clock } from "@leasehold/core/provider";
import { SqlLeaseStore, type MySqlHandle } from "@leasehold/sql";
import { createConnection, type Connection } from "mysql2/promise";
import { startMariaDb, type MariaDb } from "@leasehold/test-kit/backends/mariadb";
import { mysql } from "@leasehold/test-kit/stores/mysql";
import { ODD_TABLE, onOddTables } from "./odd-names.ts";
import type { Database, SqlServer } from "./sql-place.ts";

/** An application's pool of a driver. */
export interface OpenHandle extends AsyncDisposable {
  readonly handle: unknown;
}

/** A driver of MySQL and MariaDB. */
export interface MySqlDriver {
  readonly name: string;
  open(address: { readonly host: string; readonly port: number; readonly database: string }): OpenHandle;
}

/** Starts a server whose stores use a URL, or handles of that driver. */
export async function startMariaDbPlaces(driver?: MySqlDriver): Promise<SqlServer> {
  const server = await startMariaDb();
  const admin = await createConnection(server.url);
  return {
    open: (name) => openDatabase(server, admin, name, driver),
    async stop() {
      admin.destroy();
      await server.stop();
    },
  };
}

async function openDatabase(
  { port }: MariaDb,
  admin: Connection,
  name: string,
  driver: MySqlDriver | undefined,
): Promise<Database> {
  const urlVia = (viaPort: number): string => `mysql://root@127.0.0.1:${viaPort}/${name}`;
  const handles: OpenHandle[] = [];
  const named = driver ? { table: `${name}.${ODD_TABLE}` } : {};
  const store = (viaPort: number, clock: Clock): SqlLeaseStore => {
    if (!driver) return new SqlLeaseStore({ mysql: urlVia(viaPort), clock });
    const handle = driver.open({ host: "127.0.0.1", port: viaPort, database: name });
    handles.push(handle);
    return new SqlLeaseStore({ mysql: handle.handle as MySqlHandle, clock, ...named });
  };
  await admin.query(`CREATE DATABASE ${name}`);
  await using owner = new SqlLeaseStore({ mysql: urlVia(port), clock: systemClock, ...named });
  await owner.migrate();
  return {
    port,
    store,
    documents: async () => {
      await admin.query(`CREATE TABLE ${name}.documents (name VARCHAR(255) PRIMARY KEY, content MEDIUMTEXT NOT NULL)`);
      return await mysql.open({ store: "mysql", url: urlVia(port), ...named });
    },
    run: async (sql, values) => {
      const placed = driver ? onOddTables(sql, `${name}.`, "`") : sql.replace(/leasehold_\w+/, `${name}.$&`);
      const [rows] = await admin.query(placed, [...values]);
      return Array.isArray(rows) ? rows : [];
    },
    earlier: (column, ms) => `TIMESTAMPADD(MICROSECOND, ${-Math.round(ms * 1_000)}, ${column})`,
    [Symbol.asyncDispose]: async () => {
      for (const handle of handles) await handle[Symbol.asyncDispose]();
      await admin.query(`DROP DATABASE ${name}`);
    },
  };
}
