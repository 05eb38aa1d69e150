import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { Pool } from "pg";
import { postgresMissing, startPostgres } from "../backends/postgres.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** After how long in the middle of a transaction the server gives up a client that says nothing any more. */
const ABANDONED_MS = 1_000;
const UPSERT = "INSERT INTO documents VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET content = EXCLUDED.content";

/** PostgreSQL: a server of its own. */
export const postgres: TestStore = {
  title: "PostgreSQL",
  leaseDurationMs: 2_000,

  missing: () => postgresMissing(),

  async start() {
    const server = await startPostgres();
    const pool = poolOf(server.url);
    await new SqlLeaseStore({ postgres: pool }).migrate();
    await pool.query("CREATE TABLE documents (name text PRIMARY KEY, content text NOT NULL)");
    await pool.end();
    return {
      settings: { store: "postgres", url: server.url },
      place: `a server of its own, ${server.url}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },

  open({ url = "" }) {
    const store = new SqlLeaseStore({ postgres: url });
    // The documents' own connections: lease calls never wait for them.
    const pool = poolOf(url);
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

function poolOf(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 2 });
  // Of an idle connection, when the server ends first.
  pool.on("error", () => undefined);
  // A connection that breaks under a statement says so twice, and unheard, the second time would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

function documentIn(pool: Pool, store: SqlLeaseStore, name: string): GuardedDocument {
  const write = async (leadership: Leadership, content: string, ms: number): Promise<void> => {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      await store.fence(leadership, client);
      if (ms > 0) await delay(ms);
      await client.query(UPSERT, [name, content]);
      await client.query("COMMIT");
      client.release();
    } catch (error) {
      // Rolls back, whatever has become of the connection.
      client.release(true);
      throw error;
    }
  };
  return {
    update: async (leadership, change) => {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        // The next leader waits for this transaction, even if this process is cut off in the middle of it.
        await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${ABANDONED_MS}`);
        await store.fence(leadership, client);
        const select = "SELECT content FROM documents WHERE name = $1 FOR UPDATE";
        const { rows } = await client.query<{ content: string }>(select, [name]);
        await client.query(UPSERT, [name, change(rows[0]?.content ?? "")]);
        await client.query("COMMIT");
        client.release();
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
    read: async () => {
      const { rows } = await pool.query<{ content: string }>("SELECT content FROM documents WHERE name = $1", [name]);
      return rows[0]?.content ?? "";
    },
    write: (leadership, content) => write(leadership, content, 0),
    writeSlowly: write,
  };
}
