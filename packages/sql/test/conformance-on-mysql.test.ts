import { systemClock, type Clock } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { createConnection, type Connection } from "mysql2/promise";
import { afterAll, beforeAll } from "vitest";
import { mariaDbMissing, startMariaDb, type MariaDb } from "@leasehold/test-kit/backends/mariadb";
import { mysql } from "@leasehold/test-kit/stores/mysql";
import { LONG_OUTAGE_MS } from "@leasehold/test-kit/conformance/real-time";
import { runConformance, runConformanceUnless } from "@leasehold/test-kit/conformance/run-conformance";
import { SqlPlace, type Database } from "./sql-place.ts";

const NAME = "mysql (MariaDB)";

await runConformanceUnless(mariaDbMissing(), NAME, () => {
  let server: MariaDb;
  let admin: Connection;
  let databases = 0;

  beforeAll(async () => {
    server = await startMariaDb();
    admin = await createConnection(server.url);
  });

  afterAll(async () => {
    admin.destroy();
    await server.stop();
  });

  runConformance(
    {
      name: NAME,
      leaseMs: 3_000,
      outageMs: LONG_OUTAGE_MS,
      requests: { acquire: 1, renew: 1, release: 1, look: 1 },
      lacks: {
        watch: "MySQL cannot push",
        duplicates: "requests go over a connection, and TCP delivers nothing twice",
      },
      async open() {
        databases += 1;
        return new SqlPlace(await openDatabase(server, admin, `conformance_${databases}`));
      },
    },
    { concurrently: true },
  );
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
    [Symbol.asyncDispose]: async () => void (await admin.query(`DROP DATABASE ${name}`)),
  };
}
