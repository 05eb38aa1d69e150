import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { Pool, type PoolClient } from "pg";
import { postgresMissing, startPostgres } from "../backends/postgres.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** The time after which the server gives up a silent client in the middle of a transaction. */
const ABANDONED_MS = 1_000;
const UPSERT = "INSERT INTO documents VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET content = EXCLUDED.content";

/** PostgreSQL, on a server of its own. */
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

  open({ url = "", table }) {
    const store = new SqlLeaseStore({ postgres: url, ...(table === undefined ? {} : { table }) });
    // Separate connections for the documents, so that lease calls never wait for them.
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
  // The error of an idle connection when the server ends first.
  pool.on("error", () => undefined);
  // A connection that breaks during a statement emits a second error, which would end the process without a listener.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

function documentIn(pool: Pool, store: SqlLeaseStore, name: string): GuardedDocument {
  const inTransaction = async (
    leadership: Leadership,
    act: (client: PoolClient) => Promise<unknown>,
    setting?: string,
  ): Promise<void> => {
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      if (setting) await client.query(setting);
      await store.fence(leadership, client);
      await act(client);
      await client.query("COMMIT");
      client.release();
    } catch (error) {
      // Rolls back, in whatever state the connection is.
      client.release(true);
      throw error;
    }
  };
  const read = async (database: Pool | PoolClient, lock = ""): Promise<string> => {
    const select = `SELECT content FROM documents WHERE name = $1 ${lock}`;
    return (await database.query<{ content: string }>(select, [name])).rows[0]?.content ?? "";
  };
  return {
    read: () => read(pool),
    update: (leadership, change) =>
      // The next leader waits for this transaction, even if this process is cut off in the middle of it.
      inTransaction(
        leadership,
        async (client) => client.query(UPSERT, [name, change(await read(client, "FOR UPDATE"))]),
        `SET LOCAL idle_in_transaction_session_timeout = ${ABANDONED_MS}`,
      ),
    write: (leadership, content) => inTransaction(leadership, (client) => client.query(UPSERT, [name, content])),
  };
}
