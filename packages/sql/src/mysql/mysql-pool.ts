import { ConfigurationError } from "@leasehold/core";
import { checkDatabaseUrl } from "../options.ts";
import type { Connections } from "../requests.ts";
import { storeClosed } from "../sql-errors.ts";

/** The part of a connection of `mysql2/promise` that is used here. */
export interface MySqlConnection {
  readonly threadId: number | null;
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

/** Finds a statement of ours that runs under that number. */
const OURS = "SELECT id FROM information_schema.processlist WHERE id = ? AND info LIKE '%leasehold\\_%'";
/** Enough for a lease call, a read beside it, and a cancellation. */
const OWN_CONNECTIONS = 4;

/** Returns a statement as `mysql2` takes it, whatever the connection's own settings say. */
export function statement(sql: string, values: readonly unknown[]): object {
  return { sql, values, rowsAsArray: false, nestTables: false, typeCast: true };
}

/** Returns a pool or a connection of `mysql2` as one of `mysql2/promise`. */
export function withPromises<T extends object>(either: T): T {
  const { promise } = either as { readonly promise?: () => T };
  return typeof promise === "function" ? promise.call(either) : either;
}

/** Connections to the user's database: through the user's pool, or one of our own for a URL. */
export class MySqlConnections implements Connections<MySqlPoolConnection> {
  readonly #given: MySqlPool | string;
  #own: Promise<MySqlPool> | undefined;
  #closed: Promise<void> | undefined;

  /** @throws {ConfigurationError} unless it is a URL or a pool. */
  constructor(given: unknown) {
    this.#given = poolOrUrl(given);
  }

  async get(): Promise<MySqlPoolConnection> {
    this.checkOpen();
    const pool = await this.#pool();
    this.checkOpen();
    try {
      return await pool.getConnection();
    } catch (error) {
      // A pool that is closed turns away whoever waits.
      this.checkOpen();
      throw error;
    }
  }

  release(connection: MySqlPoolConnection): void {
    connection.release();
  }

  discard(connection: MySqlPoolConnection): void {
    connection.destroy();
  }

  async cancel({ threadId }: MySqlPoolConnection, by: MySqlPoolConnection): Promise<void> {
    // After a failover the number may be that of somebody else's connection, on another server.
    const [rows] = await by.query(statement(OURS, [threadId]));
    if ((rows as readonly unknown[]).length > 0) await by.query(statement(`KILL QUERY ${threadId}`, []));
  }

  /** Closes the pool, if it is our own. From now on there are no connections to be had. */
  async close(): Promise<void> {
    this.#closed ??= this.#end();
    await this.#closed;
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
    this.#own ??= openPool(this.#given);
    return await this.#own;
  }
}

async function openPool(uri: string): Promise<MySqlPool> {
  let mysql;
  try {
    mysql = await import("mysql2/promise");
  } catch (cause) {
    throw new ConfigurationError("mysql needs the package mysql2: install it.", { cause });
  }
  try {
    return mysql.createPool({ uri, connectionLimit: OWN_CONNECTIONS, connectTimeout: 10_000 }) as unknown as MySqlPool;
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
