import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { systemClock, type Clock, type AcquireRequest, type Lease, type LeaseRecord } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import { SqlLeaseStore, type SqlConnection, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { createConnection, type Connection } from "mysql2/promise";
import { Client } from "pg";
import { describe, test as base } from "vitest";
import { acquiring, LEASE_MS, RENEW_INTERVAL_MS, win } from "@leasehold/test-kit/acquisitions";
import type { Daemon } from "@leasehold/test-kit/backends/daemon";
import { mariaDbMissing, startMariaDb, type MariaDb } from "@leasehold/test-kit/backends/mariadb";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing, startPostgres, type Postgres } from "@leasehold/test-kit/backends/postgres";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { openFile } from "@leasehold/test-kit/stores/sqlite-file";
import { MySqlDatabase } from "../src/mysql/mysql-database.ts";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";
import type { SqlDatabase } from "../src/sql-database.ts";
import { SqliteDatabase } from "../src/sqlite/sqlite-database.ts";

export type Kind = "sqlite" | "mysql" | "postgres";
export const ALL: readonly Kind[] = ["sqlite", "mysql", "postgres"];
export const SERVERS: readonly Kind[] = ["mysql", "postgres"];

export type Row = Readonly<Record<string, unknown>>;

/** A user's own connection. */
export interface Session {
  /** The connection in the form that `fence()` takes. */
  readonly connection: SqlConnection<SqlLeaseStoreOptions>;
  /** Runs a statement. Its parameters are question marks on every database. */
  run(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Rolls the transaction back, unless the connection has been ended. */
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** A database: a server, or a folder of files. */
export interface Server {
  readonly kind: Kind;
  readonly daemon?: Daemon;
  /** Returns a URL, or the path of a file that only this test uses. */
  place(): string;
}

/** One election for one test, with everything that the test opens. */
export class SqlWorld implements AsyncDisposable {
  readonly kind: Kind;
  readonly server: Server;
  /** A URL or a path. */
  readonly place: string;
  readonly election = `election-${randomUUID()}`;
  readonly #open: Array<() => Promise<unknown>> = [];
  #admin: Promise<Session> | undefined;

  constructor(server: Server) {
    this.server = server;
    this.kind = server.kind;
    this.place = server.place();
  }

  /** The database's server, which a test can pause. @throws if there is none. */
  get daemon(): Daemon {
    if (!this.server.daemon) throw new Error("SQLite has no server.");
    return this.server.daemon;
  }

  /** Returns the store of one more process. */
  store(place: unknown = this.place, clock: Clock = systemClock): SqlLeaseStore {
    const store = new SqlLeaseStore({ [this.kind]: place, clock } as unknown as SqlLeaseStoreOptions);
    this.onEnd(() => store.close());
    return store;
  }

  /** Returns a request to acquire the world's election. */
  acquiring(options: Partial<AcquireRequest> = {}): AcquireRequest {
    return acquiring({ election: this.election, ...options });
  }

  /** Acquires the world's election, which must succeed. */
  async win(store: LeaseStore, options: Partial<AcquireRequest> = {}): Promise<Lease> {
    return await win(store, this.acquiring(options));
  }

  /** Returns the store's rows, without the lease engine. */
  rows(place: unknown = this.place): SqlDatabase {
    const database = this.#rowsOf(place);
    this.onEnd(() => database.close());
    return database;
  }

  #rowsOf(place: unknown): SqlDatabase {
    if (this.kind === "sqlite") return new SqliteDatabase(place as string, systemClock);
    return this.kind === "mysql" ? new MySqlDatabase(place, systemClock) : new PostgresDatabase(place, systemClock);
  }

  /** Opens one more connection of the user's. */
  async session(place: string = this.place): Promise<Session> {
    const session = await openSession(this.kind, place);
    this.onEnd(() => session.close());
    return session;
  }

  /** Runs a statement as an administrator who sees all tables. */
  async run(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    this.#admin ??= this.session().then(async (session) => {
      if (this.kind === "sqlite") await session.run("ATTACH ? AS leases", [`${this.place}-leasehold`]);
      return session;
    });
    return await (await this.#admin).run(sql, values);
  }

  async leaseRow(election = this.election): Promise<Row | undefined> {
    return textual((await this.run("SELECT * FROM leasehold_leases WHERE election = ?", [this.name(election)]))[0]);
  }

  async fenceRow(election = this.election): Promise<Row | undefined> {
    return textual((await this.run("SELECT * FROM leasehold_fences WHERE election = ?", [this.name(election)]))[0]);
  }

  async occurrenceRow(occurrence: string, election = this.election): Promise<Row | undefined> {
    const sql = "SELECT * FROM leasehold_occurrences WHERE election = ? AND occurrence = ?";
    return textual((await this.run(sql, [this.name(election), this.name(occurrence)]))[0]);
  }

  /** Returns a name in the form of the database's column. */
  name(election = this.election): unknown {
    return this.kind === "mysql" ? Buffer.from(election) : election;
  }

  /** Returns a network to the server that can fail, and the URL through it. */
  async network(): Promise<{ readonly proxy: TcpFaultProxy; readonly url: string }> {
    const proxy = await startTcpFaultProxy(this.daemon.port);
    this.onEnd(() => proxy.stop());
    return { proxy, url: this.place.replace(/:\d+\//, `:${proxy.port}/`) };
  }

  /** Returns the sessions of the server that run a statement at present, except this one. */
  async busy(): Promise<readonly Row[]> {
    return this.kind === "mysql"
      ? await this.run(
          "SELECT id, info, state FROM information_schema.processlist WHERE command IN ('Query', 'Execute') AND id <> CONNECTION_ID()",
        )
      : await this.run(
          "SELECT pid AS id, query AS info, wait_event_type AS state FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
        );
  }

  onEnd(close: () => Promise<unknown>): void {
    this.#open.push(close);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#open.toReversed()) await close();
  }
}

/** Declares the same tests for several databases. Missing databases are skipped. */
export async function describeDatabases(kinds: readonly Kind[], body: (test: SqlTest, kind: Kind) => void): Promise<void> {
  for (const kind of kinds) {
    const missing = kind !== "sqlite" && (await isMissing(kind === "mysql" ? mariaDbMissing() : postgresMissing()));
    // oxlint-disable-next-line vitest/valid-title
    describe.skipIf(missing)(kind, () => {
      body(TESTS[kind], kind);
    });
  }
}

/** Each server is started once per process, and serves one test file after another. */
const onServers = base
  .extend("sqlite", { scope: "worker" }, async ({}, { onCleanup }): Promise<Server> => {
    const folder = await memoryFolder("sqltest-");
    onCleanup(() => rm(folder, { recursive: true, force: true }));
    return { kind: "sqlite", place: () => join(folder, `${randomUUID()}.db`) };
  })
  .extend("mysql", { scope: "worker" }, async ({}, { onCleanup }) => serverOf("mysql", await startMariaDb(), onCleanup))
  .extend("postgres", { scope: "worker" }, async ({}, { onCleanup }) => serverOf("postgres", await startPostgres(), onCleanup));

const TESTS = {
  sqlite: onServers.extend("world", ({ sqlite }, { onCleanup }) => worldOn(sqlite, onCleanup)),
  mysql: onServers.extend("world", ({ mysql }, { onCleanup }) => worldOn(mysql, onCleanup)),
  postgres: onServers.extend("world", ({ postgres }, { onCleanup }) => worldOn(postgres, onCleanup)),
};

export type SqlTest = (typeof TESTS)[Kind];

type OnCleanup = (clean: () => Promise<void>) => void;

async function serverOf(kind: Kind, daemon: MariaDb | Postgres, onCleanup: OnCleanup): Promise<Server> {
  onCleanup(() => daemon.stop());
  await using store = new SqlLeaseStore({ [kind]: daemon.url } as unknown as SqlLeaseStoreOptions);
  await store.migrate();
  return { kind, daemon, place: () => daemon.url };
}

function worldOn(server: Server, onCleanup: OnCleanup): SqlWorld {
  const world = new SqlWorld(server);
  onCleanup(() => world[Symbol.asyncDispose]());
  return world;
}

async function openSession(kind: Kind, place: string): Promise<Session> {
  if (kind === "sqlite") return sqliteSession(openFile(place, 5_000));
  if (kind === "mysql") return mysqlSession(await createConnection(place));
  const client = new Client(place);
  await client.connect();
  return postgresSession(client);
}

export function sqliteSession(database: DatabaseSync): Session {
  return {
    connection: database,
    rollback: async () => database.exec("ROLLBACK"),
    run: async (sql, values = []) => {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      return statement.all(...(values as SQLInputValue[]));
    },
    close: async () => {
      if (database.isOpen) database.close();
    },
  };
}

export function mysqlSession(connection: Connection): Session {
  // A connection that breaks is also reported here.
  connection.on("error", () => undefined);
  return {
    connection,
    rollback: async () => await connection.rollback().catch(() => undefined),
    run: async (sql, values = []) => {
      const [rows] = await connection.query(sql, values as unknown[]);
      return Array.isArray(rows) ? (rows as Row[]) : [];
    },
    close: async () => connection.destroy(),
  };
}

export function postgresSession(client: Client): Session {
  client.on("error", () => undefined);
  return {
    connection: client,
    rollback: async () => void (await client.query("ROLLBACK")),
    run: async (sql, values = []) => {
      let count = 0;
      return (
        await client.query(
          sql.replaceAll("?", () => `$${(count += 1)}`),
          values as unknown[],
        )
      ).rows as Row[];
    },
    close: async () => client.end(),
  };
}

/** Converts a row's bytes to text, and its term to a number, for every driver. */
function textual(row: Row | undefined): Row | undefined {
  return (
    row &&
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (value instanceof Uint8Array) return [name, Buffer.from(value).toString()];
        return [name, name === "term" && value !== null ? Number(value) : value];
      }),
    )
  );
}

/** Makes every nonce older by all clocks, as if that time had passed. */
export async function letPass(world: SqlWorld, ms: number, table = "leasehold_leases"): Promise<void> {
  await stepClock(world, ms, table);
  await world.run(`UPDATE ${table} SET nonce_wall_ms = nonce_wall_ms - ${ms} WHERE election = ?`, [world.name()]);
}

/** Sets the database's clock forward or back. Earlier writes then look older or younger. */
export async function stepClock(world: SqlWorld, byMs: number, table = "leasehold_leases"): Promise<void> {
  const moved = {
    sqlite: `nonce_at - ${byMs}`,
    mysql: `TIMESTAMPADD(MICROSECOND, ${-byMs * 1_000}, nonce_at)`,
    postgres: `nonce_at - make_interval(secs => ${byMs / 1_000})`,
  }[world.kind];
  await world.run(`UPDATE ${table} SET nonce_at = ${moved} WHERE election = ?`, [world.name()]);
}

/** Makes the nonce look as if another server had written it, or this one before a restart. */
export async function failOver(world: SqlWorld, table = "leasehold_leases"): Promise<void> {
  const before = { sqlite: "'another boot'", mysql: "'another server'", postgres: "nonce_clock - interval '1 microsecond'" };
  await world.run(`UPDATE ${table} SET nonce_clock = ${before[world.kind]} WHERE election = ?`, [world.name()]);
}

/** A record with every optional part left out. */
export function recordOf(parts: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    schema: 3,
    term: 1,
    termId: randomUUID(),
    candidateId: "a",
    nonce: randomUUID(),
    leaseDurationMs: LEASE_MS,
    renewIntervalMs: RENEW_INTERVAL_MS,
    ...parts,
  };
}
