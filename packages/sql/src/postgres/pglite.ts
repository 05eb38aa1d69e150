import type {
  Listening,
  PostgresClient,
  PostgresPool,
  PostgresPoolClient,
  PostgresResult,
  PostgresStatement,
} from "./postgres-driver.ts";

interface Results {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly affectedRows?: number;
}

interface Queries {
  query(text: string, values?: readonly unknown[], options?: object): Promise<Results>;
  exec(text: string, options?: object): Promise<readonly Results[]>;
}

interface PGlite extends Queries {
  listen(channel: string, notified: (payload: string) => void): Promise<() => Promise<unknown>>;
  transaction<T>(work: (transaction: unknown) => Promise<T>): Promise<T>;
  /** PGlite itself has it, and its worker does not. */
  isInTransaction?(): boolean;
}

/** The types of the columns that the store reads: bytea, name, int8, int2, int4, text, oid, float8, timestamptz and xid8. */
const TYPES = [17, 19, 20, 21, 23, 25, 26, 701, 1184, 5069];
const AS_TEXT = Object.fromEntries(TYPES.map((type) => [type, String]));

/** Returns whether the handle is PGlite, or one of its transactions. */
export function isPGlite(handle: unknown): handle is Queries {
  const { query, exec } = (handle ?? {}) as Partial<Queries>;
  return typeof handle === "object" && typeof query === "function" && typeof exec === "function";
}

/** Returns whether the handle is PGlite itself, and not one of its transactions. */
export function isPGliteDatabase(handle: unknown): handle is PGlite {
  const { listen, transaction } = (handle ?? {}) as Partial<PGlite>;
  return isPGlite(handle) && typeof listen === "function" && typeof transaction === "function";
}

export function pgliteClient(queries: Queries): PostgresClient {
  return { query: async (statement) => await send(queries, statement) };
}

/** PGlite, which has one session. A call of the store waits until the user's transaction has ended. */
export class PGlitePool implements PostgresPool {
  readonly #database: PGlite;

  constructor(database: PGlite) {
    this.#database = database;
  }

  connect(): Promise<PostgresPoolClient> {
    return Promise.resolve(new Session(this.#database));
  }

  async listen(channel: string, { notified }: Listening): Promise<() => Promise<unknown>> {
    return await this.#database.listen(channel, notified);
  }

  async transaction<T>(work: (connection: unknown) => Promise<T>): Promise<T> {
    return await this.#database.transaction(work);
  }
}

/** A use of PGlite's one session. It has no number, so it cannot be cancelled, and it cannot be closed. */
class Session implements PostgresPoolClient {
  readonly #database: PGlite;
  readonly #listeners = new Set<(notice: never) => void>();

  constructor(database: PGlite) {
    this.#database = database;
  }

  on(event: string, listener: (value: never) => void): void {
    if (event === "notice") this.#listeners.add(listener);
  }

  off(_: string, listener: (value: never) => void): void {
    this.#listeners.delete(listener);
  }

  getTransactionStatus(): string {
    return this.#database.isInTransaction?.() ? "T" : "I";
  }

  async query(statement: PostgresStatement): Promise<PostgresResult> {
    return await send(this.#database, statement, (notice) => {
      for (const listener of this.#listeners) listener(notice as never);
    });
  }

  release(): void {
    // PGlite has one session, which stays open.
  }
}

async function send(
  queries: Queries,
  { text, values }: PostgresStatement,
  onNotice?: (notice: unknown) => void,
): Promise<PostgresResult> {
  const options = { parsers: AS_TEXT, ...(onNotice ? { onNotice } : {}) };
  const result = values ? await queries.query(text, values, options) : (await queries.exec(text, options))[0];
  return { rows: result?.rows ?? [], rowCount: result?.affectedRows ?? null };
}
