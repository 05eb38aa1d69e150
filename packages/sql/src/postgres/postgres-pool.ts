import { ConfigurationError } from "@leasehold/core";
import { checkDatabaseUrl } from "../options.ts";
import { checkKeys } from "../layout.ts";
import { PoolTrust, trustOf } from "../pool-trust.ts";
import type { Connections } from "../requests.ts";
import { acknowledgedWithWarning, storeClosed, type RequestLabel } from "../sql-errors.ts";
import { UNIQUE_INDEXES } from "./postgres-layout.ts";

/** The part of a client of `pg` that is used here. */
export interface PostgresClient {
  query(
    statement: object,
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly rowCount: number | null }>;
}
/** The part of a pool's client that is used here. */
export interface PostgresPoolClient extends PostgresClient {
  /** From 8.21 on; what the native client gives is null. */
  getTransactionStatus?(): string | null;
  /** What the client stands on: it hears each answer of the server's. */
  readonly connection?: {
    on(event: "readyForQuery", listener: (answer: { readonly status: string }) => void): unknown;
    readonly stream?: { destroy?(): unknown };
  };
  /** The server process behind it. */
  readonly processID?: number | null;
  release(destroy?: boolean): void;
  on(event: string, listener: (value: never) => void): unknown;
  off(event: string, listener: (value: never) => void): unknown;
}
/** The part of a pool of `pg` that is used here. */
export interface PostgresPool {
  connect(): Promise<PostgresPoolClient>;
  end(): Promise<void>;
}

/** Returns a statement as `pg` takes it, whose columns come as the server's text, whatever parsers the user has set. */
export function statement(text: string, values?: readonly unknown[]): object {
  return { text, ...(values ? { values } : {}), types: AS_TEXT };
}

/**
 * After a failover, and behind a pooler, the number may be that of somebody else's connection. So only a read of ours ends: a write,
 * also another process's, may be waiting for its replica.
 */
const CANCEL =
  "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND usename = current_user AND query LIKE 'SELECT%leasehold\\_%'";
/** The session that holds up another one, the longest transaction first. Of other accounts' it shows the number alone. */
const BLOCKERS = `SELECT b.pid, a.client_addr, a.client_port, a.usename, a.state, a.wait_event,
  round(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start)) AS age_s
FROM unnest(pg_blocking_pids($1)) AS b (pid) LEFT JOIN pg_stat_activity a ON a.pid = b.pid ORDER BY a.xact_start LIMIT 1`;
const AS_TEXT = { getTypeParser: () => String };

/** What the server said of the transaction after its last answer, on connections of a `pg` that does not show it. */
const heard = new WeakMap<PostgresPoolClient, string>();

/** The event by which a pool of `pg` announces a connection. */
const NEW_CONNECTION = "connect";

/** Enough for a lease call, a read beside it, the listener, and a cancellation. */
const OWN_CONNECTIONS = 5;

/** The settings that a pool of `pg` shows. */
interface PoolOptions {
  readonly options?: { readonly max?: unknown; readonly connectionTimeoutMillis?: unknown };
}

/** The longest that making a connection takes in a pool of our own: while all are being made no call has one. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Connections to the user's database: through the user's pool, or one of our own for a URL. */
export class PostgresConnections implements Connections<PostgresPoolClient> {
  readonly #given: PostgresPool | string;
  readonly #trust: PoolTrust;
  #own: Promise<PostgresPool> | undefined;
  /** Ends each wait for a connection: a pool that is closed forgets who waits. */
  readonly #waits = new Set<(closed: Error) => void>();
  /** The connections that the pool has been asked for, and has not been given back. */
  readonly #lent = new Set<Promise<PostgresPoolClient> | PostgresPoolClient>();
  readonly #allReturned = Promise.withResolvers<void>();
  #closed: Promise<void> | undefined;
  /** The keys of the tables were found to be there. */
  hasKeys = false;

  /** @throws {ConfigurationError} unless it is a URL or a pool. */
  constructor(given: unknown) {
    this.#given = poolOrUrl(given);
    this.#trust = typeof this.#given === "string" ? new PoolTrust() : trustOf(this.#given, NEW_CONNECTION);
  }

  /** There is a connection left for lease calls while one listens. */
  get canListen(): boolean {
    return typeof this.#given === "string" || (this.#given as PoolOptions).options?.max !== 1;
  }

  /** A connection that gets no answer while it is made is given up. A pool that does not show its settings may do that. */
  get boundsConnecting(): boolean {
    if (typeof this.#given === "string") return true;
    const { options } = this.#given as PoolOptions;
    return options === undefined || Number(options.connectionTimeoutMillis) > 0;
  }

  async get(): Promise<PostgresPoolClient> {
    this.checkOpen();
    const pool = await this.#pool();
    this.checkOpen();
    const client = await this.#trust.get(
      async () => {
        const taken = await this.#unlessClosed(this.#lend(pool.connect()));
        // A connection that breaks under a statement says so twice: the statement fails, and that is enough.
        taken.on("error", ignore);
        return taken;
      },
      (taken) => taken,
      (taken) => this.discard(taken),
    );
    if (!client.getTransactionStatus && !heard.has(client)) hear(client);
    return client;
  }

  release(client: PostgresPoolClient): void {
    client.off("error", ignore);
    this.#trust.answered(client);
    client.release();
    this.#returned(client);
  }

  /**
   * Its last error may still come, and is heard. Nothing is sent any more: a connection whose other end is gone would else keep
   * its socket, and the process, for long.
   */
  discard(client: PostgresPoolClient): void {
    client.release(true);
    this.#returned(client);
    client.connection?.stream?.destroy?.();
  }

  instant(): number {
    return this.#trust.instant();
  }

  doubt(instant: number): void {
    this.#trust.doubt(instant);
  }

  async cancel({ processID }: PostgresPoolClient, by: PostgresPoolClient): Promise<void> {
    await by.query(statement(CANCEL, [processID]));
  }

  async blockersOf({ processID }: PostgresPoolClient, by: PostgresPoolClient): Promise<string | undefined> {
    const [found] = (await by.query(statement(BLOCKERS, [processID]))).rows as readonly Record<string, string | null>[];
    if (!found) return undefined;
    const { pid, client_addr: address, client_port: port, usename: user, state, wait_event: waitsFor, age_s: ageS } = found;
    const does = `${state ?? "?"}${waitsFor === null || waitsFor === "ClientRead" ? "" : `, waiting for ${waitsFor}`}`;
    const place = address === null ? "?" : `${address}:${port}`;
    return `It waited for a lock that process ${pid} holds (${user ?? "?"} from ${place}, ${does}), in a transaction of ${ageS ?? "?"} s. End that transaction, or SELECT pg_terminate_backend(${pid}).`;
  }

  /** Closes the pool, if it is our own. From now on there are no connections to be had. */
  async close(): Promise<void> {
    this.#closed ??= this.#end();
    for (const end of this.#waits) end(storeClosed());
    await this.#closed;
  }

  /**
   * Checks the keys of the tables.
   * @throws {StoreError} that names the table without one.
   */
  async checkKeys(client: PostgresClient): Promise<void> {
    checkKeys("postgres", (await client.query(statement(UNIQUE_INDEXES))).rows);
    this.hasKeys = true;
  }

  /** @throws {ConfigurationError} once it was closed. */
  checkOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  async #unlessClosed(connecting: Promise<PostgresPoolClient>): Promise<PostgresPoolClient> {
    const closed = Promise.withResolvers<never>();
    this.#waits.add(closed.reject);
    try {
      return await Promise.race([connecting, closed.promise]);
    } catch (error) {
      // One that comes too late goes back.
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
   * The pool's own end never comes with an old `pg`, such as 8.5, where a connection that had broken was given back last: that
   * client calls nobody back when it is ended again. Then it is enough that every connection has come back.
   */
  async #end(): Promise<void> {
    const own = await this.#own?.catch(() => undefined);
    if (own === undefined) return;
    const ended = own.end();
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
    if (this.#closed && this.#lent.size === 0) this.#allReturned.resolve();
  }

  async #pool(): Promise<PostgresPool> {
    if (typeof this.#given !== "string") return this.#given;
    this.#own ??= openPool(this.#given, this.#trust);
    return await this.#own;
  }
}

function ignore(): void {
  // Heard, and so no reason to end the process.
}

/** A `pg` before 8.21 hears what the server says of the transaction, and keeps it to itself. */
function hear(client: PostgresPoolClient): void {
  heard.set(client, "");
  client.connection?.on("readyForQuery", ({ status }) => heard.set(client, status));
}

/**
 * Reports whether what was written on this connection is committed. Somebody may have given it back to the pool with a
 * transaction open: then a write is none until that is committed.
 * @throws {ConfigurationError} if the client cannot tell.
 */
export function isCommitted(client: PostgresPoolClient): boolean {
  const status = client.getTransactionStatus ? client.getTransactionStatus() : heard.get(client);
  if (status) return status === "I";
  throw new ConfigurationError(
    "The clients of the pool given as postgres do not tell whether a write was committed. Give the store a Pool of pg's JavaScript client, 8.5 or later, and not of pg-native.",
  );
}

/** The part of a notice that is used here. */
interface Notice {
  readonly severity?: string;
  readonly code?: string;
  readonly message?: string;
  readonly routine?: string;
}

/** Where PostgreSQL warns of its supply of transaction numbers, with every write: that says nothing of this one. */
const WARNS_OF_NUMBERS: ReadonlySet<string | undefined> = new Set(["GetNewTransactionId", "GetNewMultiXactId"]);

/**
 * Runs a write whose acknowledgement counts only without a warning: a commit whose wait for the synchronous standby was
 * cancelled is acknowledged as any other, with a warning before it.
 * @throws {StoreError} of unknown outcome after a warning.
 */
export async function withoutWarning<T>(
  client: PostgresPoolClient,
  label: Pick<RequestLabel, "store" | "operation" | "election">,
  write: () => Promise<T>,
): Promise<T> {
  let warning: string | undefined;
  // The severity may be in the server's language; SQLSTATE is not.
  const warn = ({ severity, code = "", message = "", routine }: Notice): void => {
    if ((severity === "WARNING" || /^(01|57P01)/.test(code)) && !WARNS_OF_NUMBERS.has(routine)) warning ??= message;
  };
  client.on("notice", warn);
  try {
    const result = await write();
    if (warning !== undefined) throw acknowledgedWithWarning(label, warning);
    return result;
  } finally {
    client.off("notice", warn);
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
    // Else the connection that listens may be lost without a word.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: "leasehold",
  });
  // An idle connection that breaks is replaced; unheard, its error would end the process.
  pool.on("error", ignore);
  // Nor may that of a connection which the server ends in the same packet in which it lets it in: no caller has it yet.
  pool.on("connect", (client) => client.on("error", ignore));
  trust.listenTo(pool, NEW_CONNECTION);
  return pool as unknown as PostgresPool;
}

function poolOrUrl(given: unknown): PostgresPool | string {
  if (typeof given === "string" && /^postgres(ql)?:\/\//.test(given)) return checkDatabaseUrl("postgres", given);
  const { connect, end } = (given ?? {}) as Partial<PostgresPool>;
  const isPool = typeof given === "object" && typeof connect === "function" && typeof end === "function";
  // A single Client looks much like one.
  if (isPool && !("processID" in (given as object))) return given as PostgresPool;
  // The text may hold a password.
  throw new ConfigurationError("postgres must be a URL such as postgres://user@host/database, or a Pool of pg.");
}
