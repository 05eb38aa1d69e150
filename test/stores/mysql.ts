import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import { mariaDbMissing, startMariaDb } from "../backends/mariadb.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** MySQL: MariaDB. */
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
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },

  open({ url = "" }) {
    const store = new SqlLeaseStore({ mysql: url });
    // The documents' own connections: lease calls never wait for them.
    const pool = createPool({ uri: url, connectionLimit: 2 });
    return Promise.resolve({
      store,
      document: (name) => documentIn(pool, store, name),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: async () => {
        await pool.end();
        await store.close();
      },
    });
  },
};

function documentIn(pool: Pool, store: SqlLeaseStore, name: string): GuardedDocument {
  const write = async (leadership: Leadership, content: string, ms: number): Promise<void> => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      await store.fence(leadership, connection);
      if (ms > 0) await delay(ms);
      await connection.query("REPLACE INTO documents (name, content) VALUES (?, ?)", [name, content]);
      await connection.commit();
      connection.release();
    } catch (error) {
      // Rolls back, whatever has become of the connection.
      connection.destroy();
      throw error;
    }
  };
  return {
    read: async () => {
      const [rows] = await pool.query<RowDataPacket[]>("SELECT content FROM documents WHERE name = ?", [name]);
      return String(rows[0]?.["content"] ?? "");
    },
    write: (leadership, content) => write(leadership, content, 0),
    writeSlowly: write,
  };
}
