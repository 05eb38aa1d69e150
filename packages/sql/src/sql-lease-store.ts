import {
  systemClock,
  type Clock,
  type OccurrenceOptions,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  sendRequest,
  type Fenced,
  type CheckOptions,
  type CheckReport,
} from "@leasehold/core/provider";
import type { FenceSql } from "./fence-sql.ts";
import { MySqlDatabase } from "./mysql/mysql-database.ts";
import {
  databaseOf,
  type NoOtherOptions,
  type PostgresOptions,
  type SqlConnection,
  type SqlLeaseStoreOptions,
} from "./options.ts";
import { PostgresDatabase } from "./postgres/postgres-database.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { SqlOccurrenceStore } from "./sql-occurrence-store.ts";
import { SqliteDatabase } from "./sqlite/sqlite-database.ts";

/**
 * Leases in rows of a SQL database: SQLite, MySQL, MariaDB or PostgreSQL. Each election has one row, and one more for its fence.
 *
 * Assumes one primary that does not lose acknowledged writes. If it can fail over, replication must be synchronous; a SQLite file
 * must be on a local disk.
 *
 * Electors judge expiry by what they observe. `tryRun`, and electors that ask for it, also use the database's clock. They believe
 * it only if the wall clocks of the last writer and of this process agree with it.
 *
 * If you give a pool, the store shares its connections with your work. A lease call that gets no free connection in time fails,
 * and the leadership may be lost. Give the store a URL instead, or keep connections to spare.
 */
export class SqlLeaseStore<Options extends SqlLeaseStoreOptions = SqlLeaseStoreOptions>
  extends RecordLeaseStore
  implements AsyncDisposable
{
  readonly #database: SqlDatabase;
  readonly #clock: Clock;

  /** Sends nothing. @throws {ConfigurationError} unless exactly one database is given, in a valid form. */
  constructor(options: Options & NoOtherOptions<Options>) {
    const clock = options?.clock ?? systemClock;
    const database = openDatabase(options, clock);
    super(database, { clock });
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Does what {@link LeaseStore.check} does, and {@link inspect}. The report's `warnings` are the settings of the server that may
   * lose acknowledged writes. The inspection is a third request.
   * @throws {StoreError} `STORE_REJECTED` for a table without its unique key. The message has the statement that makes it.
   */
  override async check(options: CheckOptions): Promise<CheckReport> {
    return { ...(await super.check(options)), warnings: await this.inspect(options) };
  }

  /**
   * Implements {@link LeaseStore.inspect}: checks the keys of the tables, and returns warnings about the settings of the server.
   */
  async inspect(options: CheckOptions): Promise<readonly string[]> {
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    const request = { clock: this.#clock, store: this.name, election, operation: "check", writes: false, timeoutMs, signal };
    return await sendRequest(request, (abandoned) => this.#database.inspect({ signal: abandoned, timeoutMs }));
  }

  /** The statements that create the tables, for users who run their own migrations. Each is safe to repeat. */
  get migration(): readonly string[] {
    return this.#database.migration;
  }

  /**
   * Creates the tables, unless they exist. The account needs the right to create tables. On SQLite the first use of the file
   * creates them.
   */
  async migrate(): Promise<void> {
    await this.#database.migrate();
  }

  /**
   * Makes the caller's transaction depend on this leadership. Call it on the connection right after the transaction began.
   *
   * It locks the election's fence. Until the transaction ends, no candidate or administrator can acquire, release or break the
   * lease. Renewals do not touch the fence, so a long transaction does not cost its leader the lease. Keep it short all the same:
   * the next leader waits for it.
   *
   * @param connection the connection on which the transaction began, of any driver that the store takes for its database. On postgres.js
   *   and PGlite it is what their transaction gives to your function. On SQLite it is a handle on the store's file.
   * @throws {FencedError} if the leadership has ended: roll back. {UnsupportedError} outside a transaction. Any error of the
   *   driver is thrown unchanged.
   */
  async fence(leadership: Fenced, connection: SqlConnection<Options>): Promise<void> {
    await this.#database.fence(leadership, connection);
  }

  /**
   * Runs `work` in a transaction that {@link fence} guards, and commits it. The store sends BEGIN, the fence, and COMMIT; if `work`
   * throws, it rolls back and throws that error. Send all statements on the connection that `work` gets, and await them.
   *
   * The connection is the driver's own: a client of `pg`, the `sql` of a transaction of postgres.js, and so on. With a URL or a path it
   * is one of the store's: a client of `pg`, a connection of `mysql2/promise`, a `DatabaseSync`. Declare its type as that of the
   * parameter.
   *
   * On a SQLite handle of yours, whatever else the application writes on that handle before `work` has ended joins the transaction.
   * Neon by HTTP has no connection: {@link fenceSql} guards its `sql.transaction([…])`.
   *
   * @throws {FencedError} if the leadership has ended; `work` is not called. {UnsupportedError} on Neon by HTTP.
   */
  async fencedTransaction<T>(leadership: Fenced, work: (connection: never) => Promise<T> | T): Promise<T> {
    return await this.#database.transaction(async (connection) => {
      await this.#database.fence(leadership, connection);
      return await work(connection as never);
    });
  }

  /**
   * Returns the statement of the fence, for any driver or ORM: send it first in your transaction. It fails in the database once
   * the leadership has ended; see {@link isFenced}. It locks what {@link fence} locks.
   *
   * If your code swallows that error, the database decides about the transaction. PostgreSQL aborts it, except back to a
   * savepoint. SQLite refuses its COMMIT, if `PRAGMA foreign_keys` is on. MySQL would commit the rest: make the statement a
   * condition of each write there, `WHERE (text) = 1`. A client that sends nothing until it is awaited never sends a statement whose
   * `await` was forgotten. Outside a transaction the statement checks the leadership, and guards nothing.
   *
   * @throws {UnsupportedError} for an occurrence on SQLite.
   */
  fenceSql(leadership: Fenced): FenceSql {
    return this.#database.fenceSql(leadership);
  }

  /**
   * Returns the occurrences of the election's schedule. They use the connections of this store, and {@link close} ends both. The
   * store never deletes an occurrence. You may delete it once its `expires_at` has passed by the database's own clock.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): SqlOccurrenceStore<Options> {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    return new SqlOccurrenceStore(this.#database.occurrences(election, retentionMs), this.#clock);
  }

  /**
   * Closes the files or the pool that the store has opened itself. It may be called again. Every later request of the store and
   * of its occurrences rejects with a {@link ConfigurationError}. This also holds if the pool is yours, which stays open.
   */
  async close(): Promise<void> {
    await this.#database.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function openDatabase(options: SqlLeaseStoreOptions, clock: Clock): SqlDatabase {
  switch (databaseOf(options)) {
    case "sqlite":
      return new SqliteDatabase(options.sqlite, clock, options);
    case "mysql":
      return new MySqlDatabase(options.mysql, clock, options);
    case "postgres":
      return new PostgresDatabase(options.postgres, clock, options as PostgresOptions);
  }
}
