import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isLeaseholdError } from "@leasehold/core";
import type { Shard } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { Client } from "pg";

export type DatabaseName = "SQLite" | "PostgreSQL";

/** A database for a fleet and for a ledger that its shards guard. */
export interface FleetDatabase extends AsyncDisposable {
  /** A path, or a URL of PostgreSQL. */
  readonly address: string;
  /** Keeps every other process from the database for a while. */
  readonly block: (ms: number) => Promise<void>;
}

/** Starts a database, with its file in the folder if it is SQLite. */
export async function startDatabase(name: DatabaseName, folder: string): Promise<FleetDatabase> {
  if (name === "SQLite") {
    const address = join(folder, "fleet.db");
    using database = new DatabaseSync(address);
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("CREATE TABLE ledger (id INTEGER PRIMARY KEY, shard TEXT, term INTEGER, member TEXT)");
    const block = async (ms: number): Promise<void> => {
      using other = new DatabaseSync(address, { timeout: 10_000 });
      other.exec("BEGIN IMMEDIATE");
      await wait(ms);
      other.exec("ROLLBACK");
    };
    return { address, block, [Symbol.asyncDispose]: async () => await Promise.resolve() };
  }
  const server = await startPostgres();
  const client = await connected(server.url);
  await client.query("CREATE TABLE ledger (id bigserial PRIMARY KEY, shard text, term bigint, member text)");
  await client.end();
  await using store = new SqlLeaseStore({ postgres: server.url });
  await store.migrate();
  const block = async (ms: number): Promise<void> => {
    await server.pause();
    await wait(ms);
    server.resume();
  };
  return { address: server.url, block, [Symbol.asyncDispose]: async () => await server.stop() };
}

/** A row of the ledger. */
export interface Entry {
  readonly shard: string;
  readonly term: number;
}

/** One process's connection to the ledger, with the fleet's store. */
export interface Ledger {
  readonly store: SqlLeaseStore;
  /** Adds a row under the shard's fence. Returns what became of it. */
  readonly write: (shard: Shard, member: string) => Promise<"wrote" | "refused" | "failed">;
  readonly entries: () => Promise<readonly Entry[]>;
  readonly close: () => Promise<void>;
}

export async function openLedger(address: string): Promise<Ledger> {
  const ledger = address.startsWith("postgres") ? await ledgerOnPostgres(address) : ledgerOnSqlite(address);
  const { write } = ledger;
  return {
    ...ledger,
    write: async (shard, member) =>
      await write(shard, member).then(
        () => "wrote",
        (error: unknown) => (isLeaseholdError(error, "FENCED") ? "refused" : "failed"),
      ),
  };
}

type Unguarded = Omit<Ledger, "write"> & { readonly write: (shard: Shard, member: string) => Promise<void> };

function ledgerOnSqlite(path: string): Unguarded {
  const database = new DatabaseSync(path, { timeout: 2_000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  const store = new SqlLeaseStore({ sqlite: path });
  const add = database.prepare("INSERT INTO ledger (shard, term, member) VALUES (?, ?, ?)");
  return {
    store,
    async write(shard, member) {
      try {
        database.exec("BEGIN IMMEDIATE");
        await store.fence(shard, database);
        add.run(shard.name, shard.term, member);
        database.exec("COMMIT");
      } finally {
        if (database.isTransaction) database.exec("ROLLBACK");
      }
    },
    entries: async () =>
      await Promise.resolve(database.prepare("SELECT shard, term FROM ledger ORDER BY id").all() as unknown as Entry[]),
    async close() {
      database.close();
      await store.close();
    },
  };
}

async function ledgerOnPostgres(url: string): Promise<Unguarded> {
  const client = await connected(url);
  const store = new SqlLeaseStore({ postgres: url });
  return {
    store,
    async write(shard, member) {
      await client.query("BEGIN");
      try {
        await store.fence(shard, client);
        await client.query("INSERT INTO ledger (shard, term, member) VALUES ($1, $2, $3)", [shard.name, shard.term, member]);
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      }
    },
    async entries() {
      const { rows } = await client.query<{ shard: string; term: string }>("SELECT shard, term FROM ledger ORDER BY id");
      return rows.map(({ shard, term }) => ({ shard, term: Number(term) }));
    },
    async close() {
      await client.end();
      await store.close();
    },
  };
}

async function connected(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}
