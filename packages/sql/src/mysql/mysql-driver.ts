/**
 * The part of a driver of MySQL and MariaDB that the store uses. It is a small part of `mysql2/promise`, so that its pool is one as it is.
 * Each other driver has a file that gives its handle this form.
 */

/** A statement, and the options that override those of its connection. */
export interface MySqlStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly rowsAsArray: false;
  readonly nestTables: false;
  readonly typeCast: true;
}

export interface MySqlConnection {
  readonly threadId: number | null;
  /**
   * The driver's own object for this connection, which is the same at each use. `mysql2` makes a new object with promises for each
   * use, on the connection with callbacks.
   */
  readonly connection?: { readonly stream?: { destroy?(): unknown } };
  /** Returns the rows, or the outcome of a write with `affectedRows` and `serverStatus`. */
  query(statement: MySqlStatement): Promise<readonly [unknown, ...unknown[]]>;
}

/** A connection that no other call uses until it is released. */
export interface MySqlPoolConnection extends MySqlConnection {
  /** The connection as the application knows it, if that is another object. */
  readonly handed?: unknown;
  release(): void;
  destroy(): void;
}

export interface MySqlPool {
  getConnection(): Promise<MySqlPoolConnection>;
  /** The store ends a pool of its own only. */
  end?(): Promise<void>;
}

export function statement(sql: string, values: readonly unknown[]): MySqlStatement {
  return { sql, values, rowsAsArray: false, nestTables: false, typeCast: true };
}

/** Returns a text as bytes of UTF-8, in which the columns store it. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, "utf8");
}
