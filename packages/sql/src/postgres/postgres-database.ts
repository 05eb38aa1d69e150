import {
  ConfigurationError,
  type Clock,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core";
import { COLUMNS, columnValues, FENCES, LEASES, NO_VERSION, stored, type Row } from "../lease-row.ts";
import { onOneConnection } from "../one-connection.ts";
import { checkFence, notInTransaction, type Fenced, type SqlDatabase } from "../sql-database.ts";
import { notCommitted, toStoreError } from "../sql-errors.ts";
import { postgresMeaning } from "./postgres-errors.ts";
import { CHANNEL, PostgresListener } from "./postgres-listener.ts";
import { PostgresConnections, statement, type PostgresClient, type PostgresPoolClient } from "./postgres-pool.ts";
import { POSTGRES_MIGRATION } from "./postgres-schema.ts";

/** Columns that hold bytes: what users write freely may have a NUL in it, which text cannot hold. */
const BYTES: ReadonlySet<string> = new Set(["value", "broken_reason"]);

const SELECT = `SELECT *, ${[...BYTES].map((column) => `encode(${column}, 'hex') AS ${column}`).join(", ")}, EXTRACT(EPOCH FROM clock_timestamp() - nonce_at)::float8 * 1000 AS age_ms FROM ${LEASES} WHERE election = $1`;
const SEED = `WITH seeded AS (INSERT INTO ${LEASES} (election) VALUES ($1) ON CONFLICT DO NOTHING) INSERT INTO ${FENCES} (election) VALUES ($1) ON CONFLICT DO NOTHING`;
/** $1: election, $2: the version to replace, and from $3 on the version and the columns. */
const SET = ["version", ...COLUMNS].map((column, index) => `${column} = $${index + 3}`).join(", ");
const SET_NONCE_AT = ", nonce_at = clock_timestamp()";
const FENCE_PARAMETER = COLUMNS.length + 4;
const NOTIFY = `RETURNING pg_notify('${CHANNEL}', $1)`;

/** Locks nothing but the lease, so that renewals wait for nobody. */
function updateOf(keepsNonce: boolean): string {
  const set = SET + (keepsNonce ? "" : SET_NONCE_AT);
  // What an administrator has written is worth telling; a renewal is not.
  return `UPDATE ${LEASES} SET ${set} WHERE election = $1 AND version = $2 ${keepsNonce ? NOTIFY : ""}`;
}

/**
 * Both rows in one statement, and so in one transaction. The fence is locked first: while a guarded transaction makes
 * this wait, renewals of the lease go on.
 */
function fencedUpdateOf(keepsNonce: boolean): string {
  const set = SET + (keepsNonce ? "" : SET_NONCE_AT);
  return `WITH locked AS (SELECT election FROM ${FENCES} WHERE election = $1 FOR UPDATE),
  updated AS (UPDATE ${LEASES} SET ${set} WHERE election = (SELECT election FROM locked) AND version = $2 RETURNING election)
UPDATE ${FENCES} SET term = $${FENCE_PARAMETER}, term_id = $${FENCE_PARAMETER + 1} WHERE election = (SELECT election FROM updated) ${NOTIFY}`;
}

/** `SHARE`: those who guard by the fence do not exclude one another, only whoever changes it. */
const LOCK_FENCE = `SELECT term, term_id FROM ${FENCES} WHERE election = $1 FOR SHARE`;
/** Fails outside a transaction, and changes nothing in one. */
const CHECK_TRANSACTION = "SAVEPOINT leasehold_fence; RELEASE SAVEPOINT leasehold_fence";
const NO_TRANSACTION = "25P01";

/** PostgreSQL through `pg`. */
export class PostgresDatabase implements SqlDatabase {
  readonly name: string = "postgres";
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: { toleranceMs: 100, exact: false },
    pushes: "all-but-renewals",
  };
  readonly migration: readonly string[] = POSTGRES_MIGRATION;
  readonly #clock: Clock;
  readonly #connections: PostgresConnections;
  readonly #listener: PostgresListener;

  constructor(pool: unknown, clock: Clock) {
    this.#clock = clock;
    this.#connections = new PostgresConnections(pool);
    this.#listener = new PostgresListener(this.#connections);
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
      signal.throwIfAborted();
      const { rowCount } = fence
        ? await client.query(statement(fencedUpdateOf(keepsNonce), [...values, fence.term, fence.termId]))
        : await client.query(statement(updateOf(keepsNonce), values));
      const committed = (client.getTransactionStatus?.() ?? "I") === "I";
      if (!committed) throw notCommitted({ store: this.name, operation: "put", election, writes: true });
      return rowCount === 1 ? { stored: true, version } : { stored: false };
    });
  }

  async *watch(election: string, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<StoredRecord | undefined> {
    let wake = Promise.withResolvers<void>();
    const changed = (): void => wake.resolve();
    const failed = (error: Error): void => wake.reject(error);
    signal.addEventListener("abort", changed, { once: true });
    let stop: (() => void) | undefined;
    try {
      stop = await this.#listener.add({ election, changed, failed });
      for (;;) {
        if (signal.aborted) return;
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
      wake.promise.catch(() => undefined);
      stop?.();
    }
  }

  async migrate(): Promise<void> {
    const client = await this.#connections.get();
    try {
      for (const sql of this.migration) await client.query(statement(sql));
    } finally {
      client.release();
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
    await this.#connections.close();
  }

  async #run<T>(
    operation: "get" | "put",
    election: string,
    signal: AbortSignal,
    act: (client: PostgresPoolClient) => Promise<T>,
  ): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    return await onOneConnection(this.#connections, label, signal, postgresMeaning, act);
  }
}

/** The row, with bytes in place of their hexadecimal digits. */
function withBytes(row: Row): Row {
  const bytes = [...BYTES].map((column) => [column, typeof row[column] === "string" ? Buffer.from(row[column], "hex") : null]);
  return { ...row, ...(Object.fromEntries(bytes) as Row) };
}
