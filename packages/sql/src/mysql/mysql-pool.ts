import { ConfigurationError } from "@leasehold/core";
import { checkDatabaseUrl } from "../options.ts";
import { checkKeys } from "../layout.ts";
import { PoolTrust, trustOf } from "../pool-trust.ts";
import type { Connections } from "../requests.ts";
import type { Row } from "../schema.ts";
import { storeClosed } from "../sql-errors.ts";
import { UNIQUE_INDEXES } from "./mysql-layout.ts";

/** The part of a connection of `mysql2/promise` that is used here. */
export interface MySqlConnection {
  readonly threadId: number | null;
  /** The connection that a promise's stands on, with its socket. */
  readonly connection?: { readonly stream?: { destroy?(): unknown } };
  query(options: object): Promise<readonly [unknown, ...unknown[]]>;
}
/** The part of a pool's connection that is used here. */
export interface MySqlPoolConnection extends MySqlConnection {
  release(): void;
  destroy(): void;
}
/** The part of a pool of `mysql2/promise` that is used here. */
export interface MySqlPool {
  getConnection(): Promise<MySqlPoolConnection>;
  end(): Promise<void>;
}

/** The session that holds the lock for which another one waits, longest first. On MariaDB, and on MySQL since 8.0. */
const BLOCKERS = ["information_schema.innodb_lock_waits", "performance_schema.data_lock_waits"].map((waits) => {
  const [requesting, blocking] = waits.startsWith("i")
    ? ["requesting_trx_id", "blocking_trx_id"]
    : ["requesting_engine_transaction_id", "blocking_engine_transaction_id"];
  return `SELECT t.trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS age_s, p.user AS user, p.host AS address, p.command AS state
FROM information_schema.innodb_trx w JOIN ${waits} l ON l.${requesting} = w.trx_id
JOIN information_schema.innodb_trx t ON t.trx_id = l.${blocking}
LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
WHERE w.trx_mysql_thread_id = ? ORDER BY t.trx_started LIMIT 1`;
});
/** Finds a read of ours that runs under that number. A killed write, also another process's, is acknowledged before its replica has it. */
const OURS = "SELECT id FROM information_schema.processlist WHERE id = ? AND info LIKE 'SELECT%leasehold\\_%'";
/** The longest that making a connection takes in a pool of our own: while all are being made no call has one. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Enough for a lease call, a read beside it, and a cancellation. */
const OWN_CONNECTIONS = 4;

/** Returns a statement as `mysql2` takes it, whatever the connection's own settings say. */
export function statement(sql: string, values: readonly unknown[]): object {
  return { sql, values, rowsAsArray: false, nestTables: false, typeCast: true };
}

/**
 * Returns a statement that does not wait longer for locks, to the second above, on MariaDB. MySQL reads a comment: there the
 * session's `innodb_lock_wait_timeout` holds, which is 2 s in a pool of our own.
 */
export function boundedBy(lockTimeoutMs: number, sql: string): string {
  const seconds = Math.max(1, Math.floor(lockTimeoutMs / 1_000));
  return `/*M!100100 SET STATEMENT innodb_lock_wait_timeout=${seconds}, lock_wait_timeout=${seconds} FOR */ ${sql}`;
}

/** Returns a pool or a connection of `mysql2` as one of `mysql2/promise`. */
export function withPromises<T extends object>(either: T): T {
  const { promise } = either as { readonly promise?: () => T };
  return typeof promise === "function" ? promise.call(either) : either;
}

/** Connections to the user's database: through the user's pool, or one of our own for a URL. */
export class MySqlConnections implements Connections<MySqlPoolConnection> {
  readonly #given: MySqlPool | string;
  readonly #trust: PoolTrust;
  #own: Promise<MySqlPool> | undefined;
  #closed: Promise<void> | undefined;
  /** The keys of the tables were found to be there. */
  hasKeys = false;

  /** @throws {ConfigurationError} unless it is a URL or a pool. */
  constructor(given: unknown) {
    this.#given = poolOrUrl(given);
    this.#trust = typeof given === "string" ? new PoolTrust() : trustOf(given as object, NEW_CONNECTION);
  }

  /** Others than the store use these connections as well. */
  get areShared(): boolean {
    return typeof this.#given !== "string";
  }

  async get(): Promise<MySqlPoolConnection> {
    this.checkOpen();
    const pool = await this.#pool();
    this.checkOpen();
    try {
      return await this.#trust.get(
        () => pool.getConnection(),
        keyOf,
        (connection) => this.discard(connection),
      );
    } catch (error) {
      // A pool that is closed turns away whoever waits.
      this.checkOpen();
      throw error;
    }
  }

  release(connection: MySqlPoolConnection): void {
    this.#trust.answered(keyOf(connection));
    connection.release();
  }

  /** Nothing is sent any more: a connection whose other end is gone would else keep its socket, and the process, for long. */
  discard(connection: MySqlPoolConnection): void {
    connection.destroy();
    connection.connection?.stream?.destroy?.();
  }

  instant(): number {
    return this.#trust.instant();
  }

  doubt(instant: number): void {
    this.#trust.doubt(instant);
  }

  async cancel({ threadId }: MySqlPoolConnection, by: MySqlPoolConnection): Promise<void> {
    // After a failover the number may be that of somebody else's connection, on another server.
    const [rows] = await by.query(statement(OURS, [threadId]));
    if ((rows as readonly unknown[]).length > 0) await by.query(statement(`KILL QUERY ${threadId}`, []));
  }

  async blockersOf({ threadId }: MySqlPoolConnection, by: MySqlPoolConnection): Promise<string | undefined> {
    const ask = async (sql: string): Promise<Row | undefined> => {
      const [rows] = await by.query(statement(sql, [threadId]));
      return (rows as readonly Row[])[0];
    };
    const [onMariaDb = "", onMySql = ""] = BLOCKERS;
    const found = await ask(onMariaDb).catch(() => ask(onMySql));
    if (!found) return undefined;
    const { id, age_s: ageS, user, address, state } = found as Readonly<Record<string, string | number | null>>;
    return `It waited for a lock that connection ${id} holds (${user ?? "?"} from ${address ?? "?"}, ${state ?? "?"}), in a transaction of ${ageS} s. End that transaction, or KILL ${id}.`;
  }

  /** Closes the pool, if it is our own. From now on there are no connections to be had. */
  async close(): Promise<void> {
    this.#closed ??= this.#end();
    await this.#closed;
  }

  /**
   * Checks the keys of the tables.
   * @throws {StoreError} that names the table without one.
   */
  async checkKeys(connection: MySqlConnection): Promise<void> {
    const [rows] = await connection.query(statement(UNIQUE_INDEXES, []));
    checkKeys("mysql", rows as readonly Row[]);
    this.hasKeys = true;
  }

  /** @throws {ConfigurationError} once it was closed. */
  checkOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  async #end(): Promise<void> {
    const own = await this.#own?.catch(() => undefined);
    // A connection that is broken is closed.
    await own?.end().catch(() => undefined);
  }

  async #pool(): Promise<MySqlPool> {
    if (typeof this.#given !== "string") return this.#given;
    this.#own ??= openPool(this.#given, this.#trust);
    return await this.#own;
  }
}

/** What a pool announces, also one with promises. */
interface CallbackConnection {
  query(sql: string, done: (error: unknown) => void): unknown;
}

/** For MySQL, which has no such limit in a statement. */
const BOUND_LOCKS = "SET SESSION innodb_lock_wait_timeout = 2, lock_wait_timeout = 2";

/** The event by which a pool of `mysql2` announces a connection. */
const NEW_CONNECTION = "connection";

/** A promise's connection is made anew each time; what it stands on stays. */
function keyOf(connection: MySqlPoolConnection): object {
  return connection.connection ?? connection;
}

async function openPool(uri: string, trust: PoolTrust): Promise<MySqlPool> {
  let mysql;
  try {
    mysql = await import("mysql2/promise");
  } catch (cause) {
    throw new ConfigurationError("mysql needs the package mysql2: install it.", { cause });
  }
  try {
    const pool = mysql.createPool({ uri, connectionLimit: OWN_CONNECTIONS, connectTimeout: CONNECT_TIMEOUT_MS });
    trust.listenTo(pool, NEW_CONNECTION);
    // The driver sends it before whatever a call asks for. One that fails breaks its connection, or does not matter.
    pool.on(
      NEW_CONNECTION,
      (connection) => void (connection as unknown as CallbackConnection).query(BOUND_LOCKS, () => undefined),
    );
    return pool as unknown as MySqlPool;
  } catch {
    // The driver's own error may hold the whole URL.
    throw new ConfigurationError("mysql is a URL with options that mysql2 does not take; see its documentation.");
  }
}

function poolOrUrl(given: unknown): MySqlPool | string {
  if (typeof given === "string" && /^(mysql|mariadb):\/\//.test(given))
    return checkDatabaseUrl("mysql", given.replace(/^mariadb:/, "mysql:"));
  const pool = given as Partial<MySqlPool> | undefined;
  if (typeof pool?.getConnection === "function") return withPromises(pool as MySqlPool);
  // The text may hold a password.
  throw new ConfigurationError("mysql must be a URL such as mysql://user@host/database, or a pool of mysql2.");
}
