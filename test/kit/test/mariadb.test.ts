import { createConnection } from "mysql2/promise";
import type { RowDataPacket } from "mysql2/promise";
import { describe, onTestFinished } from "vitest";
import { describeDatabase } from "./daemon-checks.ts";
import type { Session } from "./daemon-checks.ts";
import { mariaDbMissing, startMariaDb } from "../backends/mariadb.ts";
import type { MariaDb } from "../backends/mariadb.ts";
import { isMissing } from "../backends/missing-backend.ts";
import { describeProcesses } from "./process-checks.ts";

describe.skipIf(await isMissing(mariaDbMissing()))("MariaDB", () => {
  describeDatabase(startMariaDb, connect);
  describeProcesses("mariadb");
});

async function connect({ url }: MariaDb): Promise<Session> {
  const connection = await createConnection(url);
  // A connection that breaks is also reported here.
  connection.on("error", () => {});
  onTestFinished(() => connection.destroy());
  return {
    query: async (sql) => {
      const [rows] = await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true });
      return Array.isArray(rows) ? rows[0]?.[0] : undefined;
    },
  };
}
