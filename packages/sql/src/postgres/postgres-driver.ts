/**
 * The part of a driver of PostgreSQL that the store uses. It is a small part of `pg`, so that a pool of `pg` is one as it is. Each other
 * driver has a file that gives its handle this form.
 */

/** A statement. Its columns must come as the server's text, whatever type parsers the user has set. */
export interface PostgresStatement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** The form in which `pg` is asked to leave the text as it is. */
  readonly types: { getTypeParser(): (text: string) => string };
}

export interface PostgresResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** The number of rows that the statement changed or found. */
  readonly rowCount: number | null;
  /** The command that the server carried out: `ROLLBACK` for the COMMIT of a failed transaction. */
  readonly command?: string;
}

export interface PostgresClient {
  /** Sends the statement in this turn, and never under a name: a pooler would not know the name on another connection. */
  query(statement: PostgresStatement): Promise<PostgresResult>;
}

/** A session that no other call uses until it is released. */
export interface PostgresPoolClient extends PostgresClient {
  /**
   * Returns `I` outside a transaction, after the last answer. Exists since `pg` 8.21. The native client of `pg` returns null, and
   * so does a driver that cannot tell.
   */
  getTransactionStatus?(): string | null;
  /** The protocol connection of the client. It receives each answer of the server. */
  readonly connection?: {
    on(event: "readyForQuery", listener: (answer: { readonly status: string }) => void): unknown;
    readonly stream?: { destroy?(): unknown };
  };
  /** The id of the server process that serves this connection. */
  readonly processID?: number | null;
  release(destroy?: boolean): void;
  /** Listens for `error`, `notice` or `notification`. A driver without events lacks it. */
  on?(event: string, listener: (value: never) => void): unknown;
  off?(event: string, listener: (value: never) => void): unknown;
}

/** The callbacks of a driver that listens by itself. */
export interface Listening {
  readonly notified: (payload: string) => void;
  /** The driver listens again after an interruption, in which notifications may have been lost. */
  readonly resumed: () => void;
}

export interface PostgresPool {
  connect(): Promise<PostgresPoolClient>;
  /** The store ends a pool of its own only. */
  end?(): Promise<void>;
  /**
   * Listens to a channel by the driver's own means, and returns a function that ends it. Without this method the store sends
   * `LISTEN` on a connection.
   */
  listen?(channel: string, listening: Listening): Promise<() => Promise<unknown>>;
  readonly cannotListen?: string;
  /**
   * Runs `work` in a transaction of the driver's own. Its connection is the driver's. Without this method the store sends `BEGIN`
   * and `COMMIT` on a connection.
   */
  transaction?<T>(work: (connection: unknown) => Promise<T>): Promise<T>;
}

const AS_TEXT = { getTypeParser: () => String };

export function statement(text: string, values?: readonly unknown[]): PostgresStatement {
  return { text, ...(values ? { values } : {}), types: AS_TEXT };
}
