import { systemClock, type Clock } from "@leasehold/core/provider";
import { SqlLeaseStore } from "@leasehold/sql";
import { createConnection, type Connection } from "mysql2/promise";
import { mariaDbMissing, startMariaDb, type MariaDb } from "@leasehold/test-kit/backends/mariadb";
import { mysql } from "@leasehold/test-kit/stores/mysql";
import { runOnServer, type Database } from "./sql-place.ts";

await runOnServer("mysql (MariaDB)", mariaDbMissing(), {
  lacks: { watch: "MySQL cannot push" },
  async start() {
    const server = await startMariaDb();
    const admin = await createConnection(server.url);
    return {
      open: (name) => openDatabase(server, admin, name),
      async stop() {
        admin.destroy();
        await server.stop();
      },
    };
  },
});

async function openDatabase({ port }: MariaDb, admin: Connection, name: string): Promise<Database> {
  const urlVia = (viaPort: number): string => `mysql://root@127.0.0.1:${viaPort}/${name}`;
  const store = (viaPort: number, clock: Clock): SqlLeaseStore => new SqlLeaseStore({ mysql: urlVia(viaPort), clock });
  await admin.query(`CREATE DATABASE ${name}`);
  await using owner = store(port, systemClock);
  await owner.migrate();
  return {
    port,
    store,
    documents: async () => {
      await admin.query(`CREATE TABLE ${name}.documents (name VARCHAR(255) PRIMARY KEY, content MEDIUMTEXT NOT NULL)`);
      return await mysql.open({ store: "mysql", url: urlVia(port) });
    },
    run: async (sql, values) => {
      const [rows] = await admin.query(sql.replace(/leasehold_\w+/, `${name}.$&`), [...values]);
      return Array.isArray(rows) ? rows : [];
    },
    earlier: (column, ms) => `TIMESTAMPADD(MICROSECOND, ${-Math.round(ms * 1_000)}, ${column})`,
    [Symbol.asyncDispose]: async () => void (await admin.query(`DROP DATABASE ${name}`)),
  };
}
