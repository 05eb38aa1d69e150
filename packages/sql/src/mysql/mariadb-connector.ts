import type { Socket } from "node:net";
import type { MySqlConnection, MySqlPool, MySqlPoolConnection, MySqlStatement } from "./mysql-driver.ts";

/** The part of a connection of MariaDB's connector (`mariadb`) that the store uses. */
interface Connection {
  readonly threadId: number | null;
  /** The connection's state at the server. The object stays the same as long as the connection. */
  readonly info: { readonly status: number; isMariaDB(): boolean };
  query(options: object, values: readonly unknown[]): Promise<unknown>;
}

interface PoolConnection extends Connection {
  release(): Promise<void>;
  destroy(): void;
  on(event: string, listener: (this: Emitter) => void): void;
}

/** The object whose events a connection hands on. It has the socket. */
interface Emitter {
  readonly socket?: Socket;
}

interface Pool {
  getConnection(): Promise<PoolConnection>;
}

/** Options that make the connector answer as the store expects, whatever the options of its pool. */
const OPTIONS = {
  ...{ rowsAsArray: false, nestTables: false, metaAsArray: false, namedPlaceholders: false },
  ...{ typeCast: undefined, insertIdAsNumber: false, bigIntAsNumber: false, decimalAsNumber: false, dateStrings: false },
};

/** Returns whether the handle is a pool of MariaDB's connector, with promises. */
export function isMariaDbPool(handle: unknown): handle is Pool {
  const { getConnection, taskQueueSize, importFile } = (handle ?? {}) as Readonly<Record<string, unknown>>;
  return [getConnection, taskQueueSize, importFile].every((one) => typeof one === "function");
}

export function isMariaDbConnection(connection: unknown): connection is Connection {
  const { info } = (connection ?? {}) as Partial<Connection>;
  return typeof info?.isMariaDB === "function";
}

export class MariaDbPool implements MySqlPool {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async getConnection(): Promise<MySqlPoolConnection> {
    return new MariaDbPoolConnection(await this.#pool.getConnection());
  }
}

export class MariaDbConnection implements MySqlConnection {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get threadId(): number | null {
    return this.#connection.threadId;
  }

  /** True if the server is MariaDB, and not MySQL. */
  get isMariaDb(): boolean {
    return this.#connection.info.isMariaDB();
  }

  get connection(): object {
    return this.#connection.info;
  }

  async query({ sql, values }: MySqlStatement): Promise<readonly [unknown]> {
    try {
      const result = await this.#connection.query({ ...OPTIONS, sql }, values);
      return [Array.isArray(result) ? result : { ...(result as object), serverStatus: this.#connection.info.status }];
    } catch (error) {
      throw withoutStatement(error);
    }
  }
}

class MariaDbPoolConnection extends MariaDbConnection implements MySqlPoolConnection {
  readonly #connection: PoolConnection;

  constructor(connection: PoolConnection) {
    super(connection);
    this.#connection = connection;
  }

  get handed(): unknown {
    return this.#connection;
  }

  release(): void {
    this.#connection.release().catch(() => undefined);
  }

  /**
   * Closes the socket, and the connector then drops the connection. The connector's own `destroy` would have the server kill a
   * statement under way. A write must not be killed, because a server may then show what its replica never got. And where the session
   * has ended already, the error of that KILL would end the process as an unhandled rejection.
   */
  destroy(): void {
    const socket = socketOf(this.#connection);
    if (socket) socket.destroy(new Error("The connection was closed because a statement got no answer in time."));
    else this.#connection.destroy();
  }
}

/**
 * Returns the socket of a connection that is about to be destroyed, together with the listeners that this adds. The connector does not
 * offer the socket, but a listener is called on the object that has it.
 */
function socketOf(connection: PoolConnection): Socket | undefined {
  let socket: Socket | undefined;
  const listener = function (this: Emitter): void {
    socket = this.socket;
  };
  connection.on("newListener", listener);
  connection.on("leasehold", listener);
  return socket;
}

/** The connector puts the statement and its values into the message of an error. Returns the error without them. */
function withoutStatement(error: unknown): unknown {
  const { sqlMessage, code, errno } = (error ?? {}) as Readonly<Record<string, unknown>>;
  return typeof sqlMessage === "string" ? Object.assign(new Error(sqlMessage), { code, errno }) : error;
}
