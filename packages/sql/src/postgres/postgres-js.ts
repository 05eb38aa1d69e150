import { ConfigurationError } from "@leasehold/core";
import { sleep, systemClock } from "@leasehold/core/provider";
import type { Row } from "../schema.ts";
import { isOfClosedHandle } from "../sql-errors.ts";
import type {
  Listening,
  PostgresClient,
  PostgresPool,
  PostgresPoolClient,
  PostgresResult,
  PostgresStatement,
} from "./postgres-driver.ts";

/** A query of postgres.js. It is sent once `execute` is called. */
interface Query extends Promise<RawResult> {
  raw(): Query;
  execute(): Query;
  /** The session on which the query runs, once it does. */
  readonly state?: { readonly pid?: number | null };
}

/** The rows as the server's bytes. Several statements in one text have a list of these. */
interface RawResult extends ReadonlyArray<readonly (Uint8Array | null)[]> {
  readonly columns?: readonly { readonly name: string }[];
  readonly count?: number | null;
}

/** The `sql` of postgres.js, or that of a transaction. */
interface Sql {
  unsafe(text: string, values?: readonly unknown[]): Query;
}

interface ReservedSql extends Sql {
  release(): void;
}

/** The `sql` of postgres.js, which is a pool. */
interface PoolSql extends Sql {
  readonly options?: { readonly fetch_types?: boolean };
  reserve(): Promise<ReservedSql>;
  listen(channel: string, notified: (payload: string) => void, listens: () => void): Promise<{ unlisten(): Promise<unknown> }>;
  begin<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/**
 * Asks whether a transaction that has written is under way. The driver hides the status that the server sends. A transaction that
 * has only read does no harm, because each write is conditional on the version that was read.
 */
const STATUS = "SELECT txid_current_if_assigned()";

/** Closes the connection on which it is sent. Its answer is an error, because the server ends the session before it answers. */
const TERMINATE = "SELECT pg_terminate_backend(pg_backend_pid())";
/** read_only_sql_transaction: the server is a replica, or a primary that is being replaced. */
const READ_ONLY = "25006";

/** Returns whether the handle is the `sql` of postgres.js, also that of a transaction or a reserved connection. */
export function isPostgresJs(handle: unknown): handle is Sql {
  return typeof handle === "function" && typeof (handle as Partial<Sql>).unsafe === "function" && "typed" in handle;
}

/** Returns whether the handle is a pool of postgres.js, and not the `sql` of a transaction or of a reserved connection. */
export function isPostgresJsPool(handle: unknown): handle is PoolSql {
  const { reserve, listen, begin } = (handle ?? {}) as Partial<PoolSql>;
  return isPostgresJs(handle) && [reserve, listen, begin].every((one) => typeof one === "function");
}

export function postgresJsClient(sql: Sql): PostgresClient {
  return { query: async (statement) => await answerOf(send(sql, statement)) };
}

export class PostgresJsPool implements PostgresPool {
  readonly #sql: PoolSql;
  /** The driver's error once the user has ended the pool. */
  #ended: Error | undefined;

  /** @throws {ConfigurationError} for an option with which the driver never gives a connection. */
  constructor(sql: PoolSql) {
    if (sql.options?.fetch_types === false)
      throw new ConfigurationError(
        "The sql given as postgres has the option fetch_types: false. With it sql.reserve() of postgres.js, which the store needs, never answers on a new connection. Give the store a sql without that option.",
      );
    this.#sql = sql;
  }

  /**
   * Reserves a connection. On an ended pool `reserve()` connects again, or never answers. It never answers either if the connection
   * that it waits for breaks: https://github.com/porsager/postgres/issues/1195. A query does answer in both cases. So one is sent unless
   * a connection is idle. If it succeeds first, `reserve()` is called again.
   */
  async connect(): Promise<PostgresPoolClient> {
    for (;;) {
      if (this.#ended) throw this.#ended;
      const reserving = this.#sql.reserve();
      const idle = await Promise.race([reserving, sleep(systemClock, 0).then(() => undefined)]);
      const reserved = idle ?? (await Promise.race([reserving, this.#check(reserving)]));
      if (reserved) return new Reserved(reserved);
      reserving.then((late) => late.release()).catch(() => undefined);
    }
  }

  /** Resolves to `undefined` once a query has succeeded. After a failure, waits for `reserving`. @throws if the pool has ended. */
  async #check(reserving: Promise<ReservedSql>): Promise<ReservedSql | undefined> {
    try {
      await send(this.#sql, { text: "SELECT 1" });
      return undefined;
    } catch (error) {
      if (!isOfClosedHandle(error)) return await reserving;
      this.#ended = error as Error;
      reserving.then((late) => late.release()).catch(() => undefined);
      throw error;
    }
  }

  async listen(channel: string, { notified, resumed }: Listening): Promise<() => Promise<unknown>> {
    let times = 0;
    const listening = await this.#sql.listen(channel, notified, () => {
      times += 1;
      if (times > 1) resumed();
    });
    return () => listening.unlisten();
  }

  async transaction<T>(work: (connection: unknown) => Promise<T>): Promise<T> {
    return await this.#sql.begin(work);
  }
}

/** A reserved connection of postgres.js. The driver shows no notice. */
class Reserved implements PostgresPoolClient {
  readonly #sql: ReservedSql;
  /** The statements under way. */
  #pending: Promise<unknown> = Promise.resolve();
  #last: Query | undefined;
  #isOpen = true;
  /** Undefined if it is unknown whether a transaction is under way. */
  #status: "I" | "T" | undefined;
  #isReadOnly = false;

  constructor(sql: ReservedSql) {
    this.#sql = sql;
  }

  get processID(): number | null {
    return this.#last?.state?.pid ?? null;
  }

  getTransactionStatus(): string | null {
    return this.#status ?? null;
  }

  async query(statement: PostgresStatement): Promise<PostgresResult> {
    const answer = this.#answer(send(this.#sql, statement));
    this.#pending = answer.catch(() => undefined);
    return await answer;
  }

  /**
   * Gives the connection back. The driver cannot close one connection. So a connection whose statement has no answer yet goes
   * back once it has one. If it breaks instead, the driver replaces it. A connection to a server that takes no writes never goes
   * back, because the server itself closes it.
   */
  release(destroy = false): void {
    if (!destroy) {
      this.#sql.release();
      return;
    }
    const giveBack = async (): Promise<void> => {
      await this.#pending;
      if (!this.#isOpen) return;
      // Undoes what was left on the connection. Outside a transaction the server answers with a warning.
      if (this.#status !== "I") await send(this.#sql, { text: "ROLLBACK" });
      if (this.#isReadOnly) await send(this.#sql, { text: TERMINATE });
      else this.#sql.release();
    };
    giveBack().catch(() => undefined);
  }

  /**
   * Waits for the answer of a statement, and then for its status. The status costs a round trip of its own. If it were sent with
   * the statement, the driver would let it wait in its queue, and would not reject it when the connection breaks.
   */
  async #answer(query: Query): Promise<PostgresResult> {
    this.#last = query;
    this.#status = undefined;
    try {
      await query;
      const inTransaction = await send(this.#sql, { text: STATUS });
      this.#status = (inTransaction[0]?.[0] ?? null) === null ? "I" : "T";
    } catch (error) {
      if (hasBroken(error)) this.#isOpen = false;
      this.#isReadOnly ||= (error as { readonly code?: unknown } | null)?.code === READ_ONLY;
      throw error;
    }
    return await answerOf(query);
  }
}

/**
 * Returns whether an error means that the connection has broken, and so has left the driver's pool. An error without a severity
 * comes from the driver itself. If such a connection were given back, a later statement on it would end the process.
 */
function hasBroken(error: unknown): boolean {
  const { severity } = (error ?? {}) as { readonly severity?: unknown };
  return severity === undefined || severity === "FATAL" || severity === "PANIC";
}

function send(sql: Sql, { text, values }: Pick<PostgresStatement, "text" | "values">): Query {
  const query = sql.unsafe(
    text,
    values?.map((value) => (typeof value === "number" ? String(value) : value)),
  );
  return query.raw().execute();
}

async function answerOf(query: Query): Promise<PostgresResult> {
  const result = await query;
  const last = "columns" in result ? result : ((result as readonly unknown[]).at(-1) as RawResult);
  const names = (last.columns ?? []).map(({ name }) => inSnakeCase(name));
  const rows = Array.from(last, (row): Row =>
    Object.fromEntries(row.map((cell, index) => [names[index] ?? "", cell && Buffer.from(cell).toString("utf8")] as const)),
  );
  return { rows, rowCount: last.count ?? null };
}

/** Returns a column's name as it is in the database: the driver may be configured to return names in another case. */
function inSnakeCase(name: string): string {
  return name
    .replace(/(?!^)(?=[A-Z])/g, "_")
    .replace(/-/g, "_")
    .toLowerCase();
}
