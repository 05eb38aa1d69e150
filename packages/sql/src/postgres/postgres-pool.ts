import { ConfigurationError } from "@leasehold/core";
import { checkKeys } from "../layout.ts";
import { CONNECT_TIMEOUT_MS, PoolConnections } from "../pool-connections.ts";
import type { PoolTrust } from "../pool-trust.ts";
import { acknowledgedWithWarning, storeClosed, type RequestLabel } from "../sql-errors.ts";
import { DEFAULT_TABLES, type Tables } from "../tables.ts";
import { statement, type PostgresPool, type PostgresPoolClient } from "./postgres-driver.ts";
import { poolOrUrl } from "./postgres-handles.ts";
import { uniqueIndexes } from "./postgres-layout.ts";

/**
 * Cancels a read of the store. After a failover, and behind a pooler, the number may belong to another user's connection. A write
 * must not be cancelled, even one of another process: it may be waiting for its replica.
 */
const CANCEL =
  "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND usename = current_user AND query LIKE 'SELECT%' AND position($2 IN query) > 0";
/**
 * Finds the session that holds the lock for which another one waits. If there are several, the one with the oldest transaction is
 * found. For sessions of other accounts PostgreSQL shows only the number.
 */
const BLOCKERS = `SELECT b.pid, a.client_addr, a.client_port, a.usename, a.state, a.wait_event,
  round(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start)) AS age_s
FROM unnest(pg_blocking_pids($1)) AS b (pid) LEFT JOIN pg_stat_activity a ON a.pid = b.pid ORDER BY a.xact_start LIMIT 1`;

/** The transaction status after the server's last answer, for connections of a `pg` that does not show it. */
const lastStatus = new WeakMap<PostgresPoolClient, string>();

/** The size of the store's own pool: enough for a lease call, a read beside it, the listener, and a cancellation. */
const OWN_CONNECTIONS = 5;

const NEW_CONNECTION = "connect";

/** The settings and the state that a pool of `pg` shows. */
interface PoolOptions {
  /** The number of requests that wait, because each connection is in use. */
  readonly waitingCount?: unknown;
  readonly options?: { readonly max?: unknown; readonly connectionTimeoutMillis?: unknown };
}

export class PostgresConnections extends PoolConnections<PostgresPool, PostgresPoolClient> {
  /** The functions that end a wait for a connection. A pool that is closed never answers the calls that wait. */
  readonly #waits = new Set<(closed: Error) => void>();
  /** The connections, and the requests for one, that the pool has not got back. */
  readonly #lent = new Set<Promise<PostgresPoolClient> | PostgresPoolClient>();
  readonly #allReturned = Promise.withResolvers<void>();

  /** @throws {ConfigurationError} unless `given` is a URL or a pool. */
  constructor(given: unknown, tables: Tables = DEFAULT_TABLES, option: "postgres" | "listen" = "postgres") {
    super(poolOrUrl(given, option), given, tables, NEW_CONNECTION, openPool);
  }

  get cannotListen(): string | undefined {
    return this.#users?.cannotListen;
  }

  /** True for a pool of the user that shows that it has a single connection. */
  get isSingle(): boolean {
    return this.#users?.options?.max === 1;
  }

  /** True for a pool of the user that shows that a request waits for a connection. */
  get isExhausted(): boolean {
    return Number(this.#users?.waitingCount) > 0;
  }

  /** The pool's own way to listen, if it has one. */
  get listensItself(): PostgresPool["listen"] {
    return this.#users?.listen?.bind(this.#users);
  }

  /** The pool's own way to run a transaction, if it has one. */
  get transaction(): PostgresPool["transaction"] {
    return this.#users?.transaction?.bind(this.#users);
  }

  /**
   * True if the pool gives up a connection that gets no answer while it is made. Also true for a pool that does not show its
   * settings.
   */
  get boundsConnecting(): boolean {
    const options = this.#users?.options;
    return options === undefined || Number(options.connectionTimeoutMillis) > 0;
  }

  get #users(): (PostgresPool & PoolOptions) | undefined {
    return typeof this.given === "string" ? undefined : this.given;
  }

  release(client: PostgresPoolClient): void {
    client.off?.("error", ignore);
    this.trust.answered(client);
    client.release();
    this.#returned(client);
  }

  /** Keeps the `error` listener, because a last error may still come. */
  discard(client: PostgresPoolClient): void {
    client.release(true);
    this.#returned(client);
    client.connection?.stream?.destroy?.();
  }

  async cancel({ processID }: PostgresPoolClient, by: PostgresPoolClient): Promise<void> {
    await by.query(statement(CANCEL, [processID, this.tables.prefix]));
  }

  async blockersOf({ processID }: PostgresPoolClient, by: PostgresPoolClient): Promise<string | undefined> {
    const [found] = (await by.query(statement(BLOCKERS, [processID]))).rows as readonly Record<string, string | null>[];
    if (!found) return undefined;
    const { pid, client_addr: address, client_port: port, usename: user, state, wait_event: waitsFor, age_s: ageS } = found;
    const does = `${state ?? "?"}${waitsFor === null || waitsFor === "ClientRead" ? "" : `, waiting for ${waitsFor}`}`;
    const place = address === null ? "?" : `${address}:${port}`;
    return `It waited for a lock that process ${pid} holds (${user ?? "?"} from ${place}, ${does}), in a transaction of ${ageS ?? "?"} s. End that transaction, or SELECT pg_terminate_backend(${pid}).`;
  }

  override async close(): Promise<void> {
    const closed = super.close();
    for (const end of this.#waits) end(storeClosed());
    await closed;
  }

  protected async take(pool: PostgresPool): Promise<PostgresPoolClient> {
    const taken = await this.#unlessClosed(this.#lend(pool.connect()));
    // A connection that breaks during a statement reports it twice: the statement fails too, and that is enough.
    taken.on?.("error", ignore);
    if (!taken.getTransactionStatus && !lastStatus.has(taken)) trackStatus(taken);
    return taken;
  }

  protected keyOf(client: PostgresPoolClient): object {
    return client;
  }

  protected async checkIndexes(client: PostgresPoolClient): Promise<void> {
    checkKeys("postgres", this.tables, (await client.query(statement(uniqueIndexes(this.tables)))).rows);
  }

  async #unlessClosed(connecting: Promise<PostgresPoolClient>): Promise<PostgresPoolClient> {
    const closed = Promise.withResolvers<never>();
    this.#waits.add(closed.reject);
    try {
      return await Promise.race([connecting, closed.promise]);
    } catch (error) {
      // A connection that comes after the close goes back to the pool.
      connecting
        .then((late) => {
          late.release();
          this.#returned(late);
        })
        .catch(() => undefined);
      throw error;
    } finally {
      this.#waits.delete(closed.reject);
    }
  }

  /**
   * Waits until the pool has ended, or until every connection has come back. An old `pg`, such as 8.5, never resolves `pool.end()` if
   * the connection that came back last was broken. It ends that client a second time, which calls no callback.
   */
  protected async end(own: PostgresPool): Promise<void> {
    const ended = own.end?.();
    if (this.#lent.size === 0) this.#allReturned.resolve();
    await Promise.race([ended, this.#allReturned.promise]);
  }

  #lend(connecting: Promise<PostgresPoolClient>): Promise<PostgresPoolClient> {
    this.#lent.add(connecting);
    const lent = connecting.then((client) => this.#lent.add(client));
    lent.catch(() => undefined).finally(() => this.#returned(connecting));
    return connecting;
  }

  #returned(client: Promise<PostgresPoolClient> | PostgresPoolClient): void {
    this.#lent.delete(client);
    if (this.isClosed && this.#lent.size === 0) this.#allReturned.resolve();
  }
}

function ignore(): void {
  // Node ends the process for an `error` event without a listener.
}

/** Records the transaction status of a client. A `pg` before 8.21 receives it, but does not expose it. */
function trackStatus(client: PostgresPoolClient): void {
  lastStatus.set(client, "");
  client.connection?.on("readyForQuery", ({ status }) => lastStatus.set(client, status));
}

/**
 * Returns whether a write on this connection is committed. A user may have given the connection back to the pool with a
 * transaction open. A write then takes effect only if that transaction is committed.
 * @throws {ConfigurationError} if the client does not show the transaction status.
 */
export function isCommitted(client: PostgresPoolClient): boolean {
  const status = client.getTransactionStatus ? client.getTransactionStatus() : lastStatus.get(client);
  if (status) return status === "I";
  throw new ConfigurationError(
    "The clients of the pool given as postgres do not tell whether a write was committed. Give the store a Pool of pg's JavaScript client, 8.5 or later, and not of pg-native.",
  );
}

interface Notice {
  readonly severity?: string;
  readonly code?: string;
  readonly message?: string;
  readonly routine?: string;
}

/**
 * The routines that warn of a shortage of transaction numbers. PostgreSQL repeats that warning with every write, so it does not
 * concern this one.
 */
const WARNS_OF_NUMBERS: ReadonlySet<string | undefined> = new Set(["GetNewTransactionId", "GetNewMultiXactId"]);

/**
 * Runs a write, and accepts its acknowledgement only without a warning. PostgreSQL acknowledges a commit whose wait for the
 * synchronous standby was cancelled like any other, with a warning before it.
 * @throws {StoreError} with an unknown outcome after a warning.
 */
export async function withoutWarning<T>(
  client: PostgresPoolClient,
  label: Pick<RequestLabel, "store" | "operation" | "election">,
  write: () => Promise<T>,
): Promise<T> {
  let warning: string | undefined;
  // The severity may be in the server's language. SQLSTATE never is.
  const warn = ({ severity, code = "", message = "", routine }: Notice): void => {
    if ((severity === "WARNING" || /^(01|57P01)/.test(code)) && !WARNS_OF_NUMBERS.has(routine)) warning ??= message;
  };
  client.on?.("notice", warn);
  try {
    const result = await write();
    if (warning !== undefined) throw acknowledgedWithWarning(label, warning);
    return result;
  } finally {
    client.off?.("notice", warn);
  }
}

async function openPool(connectionString: string, trust: PoolTrust): Promise<PostgresPool> {
  let pg;
  try {
    pg = await import("pg");
  } catch (cause) {
    throw new ConfigurationError("postgres needs the package pg: install it.", { cause });
  }
  const pool = new pg.default.Pool({
    connectionString,
    max: OWN_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // Without keep-alive the connection that listens may be lost without an error.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: "leasehold",
  });
  // The pool replaces an idle connection that breaks. Without a listener its error would end the process.
  pool.on("error", ignore);
  // The server may end a connection in the packet in which it accepts it. No caller has the connection yet, so only this listener
  // hears that error.
  pool.on("connect", (client) => client.on("error", ignore));
  trust.listenTo(pool, NEW_CONNECTION);
  return pool as unknown as PostgresPool;
}
