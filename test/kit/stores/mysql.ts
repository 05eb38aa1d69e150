import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { createPool, type Pool, type PoolConnection, type RowDataPacket } from "mysql2/promise";
import { mariaDbMissing, startMariaDb } from "../backends/mariadb.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** The time after which the server gives up a silent client in the middle of a transaction. */
const ABANDONED_S = 1;

/** MySQL, on MariaDB. */
export const mysql: TestStore = {
  title: "MySQL",
  leaseDurationMs: 2_000,

  missing: () => mariaDbMissing(),

  async start() {
    const server = await startMariaDb();
    const pool = createPool({ uri: server.url });
    await new SqlLeaseStore({ mysql: pool }).migrate();
    await pool.query("CREATE TABLE documents (name VARCHAR(255) PRIMARY KEY, content MEDIUMTEXT NOT NULL) ENGINE = InnoDB");
    await pool.end();
    return {
      settings: { store: "mysql", url: server.url },
      place: `MariaDB, ${server.url}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },

  open({ url = "", table }) {
    const store = new SqlLeaseStore({ mysql: url, ...(table === undefined ? {} : { table }) });
    // Separate connections for the documents, so that lease calls never wait for them.
    const pool = createPool({ uri: url, connectionLimit: 2 });
    return Promise.resolve({
      store,
      document: (name) => documentIn(pool, store, name),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: async () => {
        // The error of a broken connection is ignored.
        await pool.end().catch(() => undefined);
        await store.close();
      },
    });
  },
};

function documentIn(pool: Pool, store: SqlLeaseStore, name: string): GuardedDocument {
  const inTransaction = async (
    leadership: Leadership,
    act: (connection: PoolConnection) => Promise<unknown>,
    setting?: string,
  ): Promise<void> => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      if (setting) await connection.query(setting);
      await store.fence(leadership, connection);
      await act(connection);
      await connection.commit();
      connection.release();
    } catch (error) {
      // Rolls back, in whatever state the connection is.
      connection.destroy();
      throw error;
    }
  };
  const read = async (database: Pool | PoolConnection, lock = ""): Promise<string> => {
    const [rows] = await database.query<RowDataPacket[]>(`SELECT content FROM documents WHERE name = ? ${lock}`, [name]);
    return String(rows[0]?.["content"] ?? "");
  };
  const put = async (connection: PoolConnection, content: string): Promise<void> => {
    await connection.query("REPLACE INTO documents (name, content) VALUES (?, ?)", [name, content]);
  };
  return {
    read: () => read(pool),
    update: (leadership, change) =>
      // The next leader waits for this transaction, even if this process is cut off in the middle of it. The setting is MariaDB's
      // own.
      inTransaction(
        leadership,
        async (connection) => put(connection, change(await read(connection, "FOR UPDATE"))),
        `SET SESSION idle_transaction_timeout = ${ABANDONED_S}`,
      ),
    write: (leadership, content) => inTransaction(leadership, (connection) => put(connection, content)),
  };
}
