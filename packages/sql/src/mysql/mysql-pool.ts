import { ConfigurationError } from "@leasehold/core";
import { checkKeys } from "../layout.ts";
import { CONNECT_TIMEOUT_MS, PoolConnections } from "../pool-connections.ts";
import type { PoolTrust } from "../pool-trust.ts";
import type { Row } from "../schema.ts";
import { DEFAULT_TABLES, type Tables } from "../tables.ts";
import { statement, type MySqlPool, type MySqlPoolConnection } from "./mysql-driver.ts";
import { poolOrUrl } from "./mysql-handles.ts";
import { uniqueIndexes } from "./mysql-layout.ts";

/**
 * Two statements that find the session which holds the lock that another session waits for. If there are several, the one with
 * the oldest transaction is found. The first statement is for MariaDB, the second for MySQL 8.0 or later.
 */
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
/**
 * Finds a read of the store that runs on the connection with that number. No write of any process may be killed, because the
 * server would acknowledge it before its replica has it.
 */
const OURS = "SELECT id FROM information_schema.processlist WHERE id = ? AND info LIKE 'SELECT%' AND LOCATE(?, info) > 0";
/** The size of the store's own pool: enough for a lease call, a read beside it, and a cancellation. */
const OWN_CONNECTIONS = 4;

/**
 * Returns a statement that waits for locks at most `lockTimeoutMs`, rounded down to whole seconds, but at least 1 s. Only MariaDB
 * honours this. MySQL reads the prefix as a comment. There the session's `innodb_lock_wait_timeout` is the limit, which is 2 s in
 * the store's own pool.
 */
export function boundedBy(lockTimeoutMs: number, sql: string): string {
  const seconds = Math.max(1, Math.floor(lockTimeoutMs / 1_000));
  return `/*M!100100 SET STATEMENT innodb_lock_wait_timeout=${seconds}, lock_wait_timeout=${seconds} FOR */ ${sql}`;
}

export class MySqlConnections extends PoolConnections<MySqlPool, MySqlPoolConnection> {
  /** @throws {ConfigurationError} unless `given` is a URL or a pool. */
  constructor(given: unknown, tables: Tables = DEFAULT_TABLES) {
    super(poolOrUrl(given), given, tables, NEW_CONNECTION, openPool);
  }

  release(connection: MySqlPoolConnection): void {
    this.trust.answered(this.keyOf(connection));
    connection.release();
  }

  discard(connection: MySqlPoolConnection): void {
    connection.destroy();
    connection.connection?.stream?.destroy?.();
  }

  async cancel({ threadId }: MySqlPoolConnection, by: MySqlPoolConnection): Promise<void> {
    // After a failover the number may belong to another user's connection on another server.
    const [rows] = await by.query(statement(OURS, [threadId, this.tables.prefix]));
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

  protected async take(pool: MySqlPool): Promise<MySqlPoolConnection> {
    try {
      return await pool.getConnection();
    } catch (error) {
      // A pool that is closed meanwhile rejects the waiting calls with an error of its own.
      this.checkOpen();
      throw error;
    }
  }

  protected keyOf(connection: MySqlPoolConnection): object {
    return connection.connection ?? connection;
  }

  protected async checkIndexes(connection: MySqlPoolConnection): Promise<void> {
    const [rows] = await connection.query(statement(uniqueIndexes(this.tables), []));
    checkKeys("mysql", this.tables, rows as readonly Row[]);
  }

  protected async end(own: MySqlPool): Promise<void> {
    // A pool whose connection is broken rejects here, although the connection is closed.
    await own.end?.().catch(() => undefined);
  }
}

/** The connection that a pool announces: one with callbacks, even if the pool has promises. */
interface CallbackConnection {
  query(sql: string, done: (error: unknown) => void): unknown;
}

/** Limits how long a session waits for locks. MySQL cannot limit this in a statement; see {@link boundedBy}. */
const BOUND_LOCKS = "SET SESSION innodb_lock_wait_timeout = 2, lock_wait_timeout = 2";

const NEW_CONNECTION = "connection";

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
    // The driver sends this statement before the statement of any call. If it fails, either its connection is broken, or the
    // failure does not matter.
    pool.on(
      NEW_CONNECTION,
      (connection) => void (connection as unknown as CallbackConnection).query(BOUND_LOCKS, () => undefined),
    );
    return pool as unknown as MySqlPool;
  } catch {
    // The driver's own error may contain the whole URL.
    throw new ConfigurationError("mysql is a URL with options that mysql2 does not take; see its documentation.");
  }
}
