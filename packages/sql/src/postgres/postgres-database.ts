import {
  ConfigurationError,
  type Clock,
  type Fence,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core";
import { COLUMNS, columnValues, FENCES, LEASES, NO_VERSION, STORE_CLOCK, stored, type Row } from "../lease-row.ts";
import { onOneConnection } from "../one-connection.ts";
import { checkFence, fenceIsMissing, notInTransaction, type Fenced, type SqlDatabase } from "../sql-database.ts";
import { notCommitted, toStoreError } from "../sql-errors.ts";
import { postgresMeaning } from "./postgres-errors.ts";
import { CHANNEL, PostgresListener } from "./postgres-listener.ts";
import { PostgresConnections, statement, type PostgresClient, type PostgresPoolClient } from "./postgres-pool.ts";
import { POSTGRES_MIGRATION } from "./postgres-schema.ts";

/** Columns that hold bytes: what users write freely may have a NUL in it, which text cannot hold. */
const BYTES: ReadonlySet<string> = new Set(["value", "broken_reason"]);

const SELECT = `SELECT *, ${[...BYTES].map((column) => `encode(${column}, 'hex') AS ${column}`).join(", ")}, EXTRACT(EPOCH FROM clock_timestamp() - nonce_at)::float8 * 1000 AS age_ms FROM ${LEASES} WHERE election = $1`;
const SEED_FENCE = `INSERT INTO ${FENCES} (election) VALUES ($1) ON CONFLICT DO NOTHING`;
const SEED = `WITH seeded AS (INSERT INTO ${LEASES} (election) VALUES ($1) ON CONFLICT DO NOTHING) ${SEED_FENCE}`;
/** $1: election, $2: the version to replace, and from $3 on the version and the columns. */
const SET = ["version", ...COLUMNS].map((column, index) => `${column} = $${index + 3}`).join(", ");
const SET_NONCE_AT = ", nonce_at = clock_timestamp()";
const FENCE_PARAMETER = COLUMNS.length + 4;
const NOTIFY = `RETURNING pg_notify('${CHANNEL}', $1)`;

/**
 * The advisory lock before a fence's row, exclusive for those who change it. Locks of rows let sharers pass who come
 * after somebody that waits to have the row alone, who then never gets it from a leader with many transactions; these do not.
 */
const GATE = "hashtextextended($1::text, 5402371648117)";

/** Locks nothing but the lease, so that renewals wait for nobody. */
function updateOf(keepsNonce: boolean, vacates: boolean): string {
  const set = SET + (keepsNonce ? "" : SET_NONCE_AT);
  // What an administrator has written, or the release of a broken term, is worth telling; and a publication, but not a
  // renewal, which leaves the value as it was.
  const condition = keepsNonce || vacates ? "" : "WHERE value_before IS DISTINCT FROM value";
  return `WITH updated AS (
  UPDATE ${LEASES} SET ${set} FROM (SELECT value AS value_before FROM ${LEASES} WHERE election = $1) AS before
  WHERE election = $1 AND version = $2 RETURNING value, value_before)
SELECT (SELECT pg_notify('${CHANNEL}', $1) FROM updated ${condition}) AS told FROM updated`;
}

/**
 * Both rows in one statement, and so in one transaction. The fence is locked first: while a guarded transaction makes
 * this wait, renewals of the lease go on. And never backwards: only an acquisition opens the fence, for a later term, and
 * only the end of that one closes it.
 */
function fencedUpdateOf(keepsNonce: boolean): string {
  const set = SET + (keepsNonce ? "" : SET_NONCE_AT);
  const [term, termId] = [`$${FENCE_PARAMETER}::bigint`, `$${FENCE_PARAMETER + 1}::text`];
  return `WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock(${GATE})),
  locked AS (SELECT election FROM ${FENCES} f, gate
    WHERE election = $1 AND (f.term < ${term} OR (f.term = ${term} AND ${termId} IS NULL)) FOR UPDATE OF f),
  updated AS (UPDATE ${LEASES} SET ${set} WHERE election = (SELECT election FROM locked) AND version = $2 RETURNING election)
UPDATE ${FENCES} SET term = ${term}, term_id = ${termId} WHERE election = (SELECT election FROM updated) ${NOTIFY}`;
}

const SELECT_BOTH = `SELECT l.version, f.term AS fence_term FROM ${LEASES} l LEFT JOIN ${FENCES} f ON f.election = l.election WHERE l.election = $1`;
/** `SHARE`: those who guard by the fence do not exclude one another, only whoever changes it. */
const LOCK_FENCE = `WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${GATE}))
SELECT term, term_id FROM ${FENCES} f, gate WHERE election = $1 FOR SHARE OF f`;
/** Fails outside a transaction, and changes nothing in one. */
const CHECK_TRANSACTION = "SAVEPOINT leasehold_fence; RELEASE SAVEPOINT leasehold_fence";
const NO_TRANSACTION = "25P01";
/** unique_violation in the catalogue, duplicate_table, duplicate_object */
const CREATED_MEANWHILE: ReadonlySet<string> = new Set(["23505", "42P07", "42710"]);

/** PostgreSQL through `pg`. */
export class PostgresDatabase implements SqlDatabase {
  readonly name: string = "postgres";
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: STORE_CLOCK,
    pushes: "all-but-renewals",
  };
  readonly migration: readonly string[] = POSTGRES_MIGRATION;
  readonly #clock: Clock;
  readonly #connections: PostgresConnections;
  readonly #listener: PostgresListener;

  constructor(pool: unknown, clock: Clock) {
    this.#clock = clock;
    this.#connections = new PostgresConnections(pool);
    this.#listener = new PostgresListener(this.#connections, clock);
  }

  async get(election: string, { signal }: Pick<GetOptions, "signal">): Promise<StoredRecord | undefined> {
    return await this.#run("get", election, signal, async (client) => {
      const [row] = (await client.query(statement(SELECT, [election]))).rows;
      return stored(row && withBytes(row));
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, fence, signal } = options;
    const version = this.#clock.randomUuid();
    const columns = columnValues(record).map((value, index) =>
      typeof value === "string" && BYTES.has(COLUMNS[index] ?? "") ? Buffer.from(value, "utf8") : value,
    );
    const values = [election, ifVersion, version, ...columns];
    return await this.#run("put", election, signal, async (client) => {
      // The first acquisition of all makes the rows that every one competes for.
      if (ifVersion === NO_VERSION) await client.query(statement(SEED, [election]));
      if (!client.getTransactionStatus) throw outdated(election);
      signal.throwIfAborted();
      const { rowCount } = fence
        ? await client.query(statement(fencedUpdateOf(keepsNonce), [...values, fence.term, fence.termId]))
        : await client.query(statement(updateOf(keepsNonce, record.termId === null), values));
      if (client.getTransactionStatus() !== "I")
        throw notCommitted({ store: this.name, operation: "put", election, writes: true });
      if (rowCount === 1) return { stored: true, version };
      if (fence) await this.#mendFence(client, election, fence, ifVersion);
      return { stored: false };
    });
  }

  /** Makes a fence's row again that is missing, for the next try. @throws {TermRegressedError} if it is there, and ahead. */
  async #mendFence(client: PostgresPoolClient, election: string, fence: Fence, ifVersion: string): Promise<void> {
    const { rows } = await client.query(statement(SELECT_BOTH, [election]));
    if (fenceIsMissing(election, fence, ifVersion, rows[0])) await client.query(statement(SEED_FENCE, [election]));
  }

  async *watch(election: string, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<StoredRecord | undefined> {
    let wake = Promise.withResolvers<void>();
    const changed = (): void => wake.resolve();
    // Kept, since it may come while somebody is told of something else.
    let failure: Error | undefined;
    const failed = (error: Error): void => {
      failure = error;
      wake.resolve();
    };
    signal.addEventListener("abort", changed, { once: true });
    const { listening, leave } = this.#listener.join({ election, changed, failed });
    try {
      await Promise.race([listening, wake.promise]);
      for (;;) {
        if (signal.aborted) return;
        if (failure) throw failure;
        const record = await this.get(election, { signal });
        yield record;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } catch (error) {
      if (!signal.aborted)
        throw toStoreError(error, { store: this.name, operation: "watch", election, writes: false }, postgresMeaning);
    } finally {
      signal.removeEventListener("abort", changed);
      leave();
    }
  }

  async migrate(): Promise<void> {
    const client = await this.#connections.get();
    try {
      for (const sql of this.migration) {
        // Of several that create a table at once, all but one fail in spite of IF NOT EXISTS; then it is there.
        await client.query(statement(sql)).catch(async (error: unknown) => {
          if (!CREATED_MEANWHILE.has(String((error as { readonly code?: unknown }).code))) throw error;
          await client.query(statement(sql));
        });
      }
    } finally {
      this.#connections.release(client);
    }
  }

  async fence(leadership: Fenced, connection: unknown): Promise<void> {
    const { query } = (connection ?? {}) as Partial<PostgresClient>;
    if (typeof query !== "function")
      throw new ConfigurationError("fence() needs a client of pg, with a transaction begun on it.");
    const transaction = connection as PostgresClient;
    try {
      await transaction.query(statement(CHECK_TRANSACTION));
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === NO_TRANSACTION) throw notInTransaction(leadership.election);
      throw error;
    }
    const { rows } = await transaction.query(statement(LOCK_FENCE, [leadership.election]));
    checkFence(leadership, rows[0]);
  }

  async close(): Promise<void> {
    this.#listener.close();
    await this.#connections.close();
  }

  async #run<T>(
    operation: "get" | "put",
    election: string,
    signal: AbortSignal,
    act: (client: PostgresPoolClient) => Promise<T>,
  ): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    return await onOneConnection(this.#connections, label, signal, postgresMeaning, this.#clock, act);
  }
}

/** A version of the driver that does not tell whether a write was committed. */
function outdated(election: string): ConfigurationError {
  return new ConfigurationError("postgres needs pg 8.21 or later.", { election });
}

/** The row, with bytes in place of their hexadecimal digits. */
function withBytes(row: Row): Row {
  const bytes = [...BYTES].map((column) => [column, typeof row[column] === "string" ? Buffer.from(row[column], "hex") : null]);
  return { ...row, ...(Object.fromEntries(bytes) as Row) };
}
