import { systemClock, type CheckOptions, type CheckReport, type Clock, type OccurrenceOptions } from "@leasehold/core";
import {
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  sendRequest,
  type Fenced,
} from "@leasehold/core/provider";
import { MySqlDatabase } from "./mysql/mysql-database.ts";
import { databaseOf, type SqlLeaseStoreOptions } from "./options.ts";
import { PostgresDatabase } from "./postgres/postgres-database.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { SqlOccurrenceStore } from "./sql-occurrence-store.ts";
import { SqliteDatabase } from "./sqlite/sqlite-database.ts";

/**
 * Leases on rows of a SQL database: SQLite, MySQL, MariaDB or PostgreSQL; one row per election, and one for its fence.
 *
 * Assumes one primary that does not lose acknowledged writes: synchronous replication where it can fail over, a local
 * disk for SQLite. Electors judge expiry by what they observe; `tryRun`, and electors that ask for it, also by the
 * database's own clock, as far as the wall clocks of whoever wrote last and of this process agree with it.
 *
 * With a pool of yours, its connections are shared with your work: lease calls that wait for one in vain fail, and so
 * may the leadership. Give the store a URL, or keep connections to spare.
 */
export class SqlLeaseStore extends RecordLeaseStore implements AsyncDisposable {
  readonly #database: SqlDatabase;
  readonly #clock: Clock;

  /** @throws {ConfigurationError} unless exactly one database is given, and given well; nothing has been sent. */
  constructor(options: SqlLeaseStoreOptions) {
    const clock = options?.clock ?? systemClock;
    const database = openDatabase(options, clock);
    super(database, { clock });
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * As {@link LeaseStore.check}; and inspects what leases rest on: the keys of the tables, and the settings of the server by which it
   * may lose acknowledged writes, which are `warnings` of the report. That takes a third request.
   * @throws {StoreError} `STORE_REJECTED` for a table without its key, with the statement that makes it.
   */
  override async check(options: CheckOptions): Promise<CheckReport> {
    return { ...(await super.check(options)), warnings: await this.inspect(options) };
  }

  /** As {@link LeaseStore.inspect}. */
  async inspect(options: CheckOptions): Promise<readonly string[]> {
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    const request = { clock: this.#clock, store: this.name, election, operation: "check", writes: false, timeoutMs, signal };
    return await sendRequest(request, (abandoned) => this.#database.inspect({ signal: abandoned, timeoutMs }));
  }

  /** The statements that create the tables, for those who run their own migrations; each is safe to repeat. */
  get migration(): readonly string[] {
    return this.#database.migration;
  }

  /** Creates the tables, unless they exist; the account needs the right to. SQLite's are created by themselves. */
  async migrate(): Promise<void> {
    await this.#database.migrate();
  }

  /**
   * Makes the caller's transaction depend on this leadership: call it on the connection right after the transaction
   * began. It locks the election's fence, so that nobody can acquire, release or break the lease before the transaction
   * ends; renewals do not touch it, so that a long transaction does not cost its leader the lease. Keep it short all the
   * same: the next leader waits for it.
   *
   * @param connection of `mysql2/promise`, a client of `pg`, or a `DatabaseSync` on the store's file.
   * @throws {FencedError} if the leadership has ended: roll back. {UnsupportedError} outside a transaction. Else what
   *   the driver throws.
   */
  async fence(leadership: Fenced, connection: unknown): Promise<void> {
    await this.#database.fence(leadership, connection);
  }

  /**
   * Returns the occurrences of the election's schedule, on the connections of this store: {@link close} ends both. Nobody deletes
   * an occurrence by itself; once its `expires_at` has passed, by the database's own clock, you may.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): SqlOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    return new SqlOccurrenceStore(this.#database.occurrences(election, retentionMs), this.#clock);
  }

  /**
   * Closes what the store has opened itself: files, or its own pool. It may be called again. Every later request of the
   * store, or of its occurrences, rejects with a {@link ConfigurationError}, also where the pool is yours and stays open.
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
      return new SqliteDatabase(options.sqlite, clock);
    case "mysql":
      return new MySqlDatabase(options.mysql, clock);
    case "postgres":
      return new PostgresDatabase(options.postgres, clock);
  }
}
