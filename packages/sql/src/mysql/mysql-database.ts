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
import { notCommitted } from "../sql-errors.ts";
import { mysqlMeaning } from "./mysql-errors.ts";
import { MySqlConnections, statement, withPromises, type MySqlConnection, type MySqlPoolConnection } from "./mysql-pool.ts";
import { MYSQL_MIGRATION } from "./mysql-schema.ts";

/** Always one row: without autocommit, which it tells, nothing may be written at all. */
const SELECT = `SELECT l.*, @@autocommit AS autocommit, TIMESTAMPDIFF(MICROSECOND, l.nonce_at, UTC_TIMESTAMP(6)) / 1000 AS age_ms
FROM (SELECT 1) AS always LEFT JOIN ${LEASES} l ON l.election = ?`;
const SEED_FENCE = `INSERT IGNORE INTO ${FENCES} (election) VALUES (?)`;
const SEEDS: readonly string[] = [`INSERT IGNORE INTO ${LEASES} (election) VALUES (?)`, SEED_FENCE];
const SET = ["version", ...COLUMNS].map((column) => `l.${column} = ?`).join(", ");
const SET_NONCE_AT = ", l.nonce_at = UTC_TIMESTAMP(6)";
/**
 * Both rows in one statement, and so in one transaction. The fence is locked first: while a guarded transaction makes
 * this wait, renewals of the lease go on.
 */
const JOINED = `${FENCES} f STRAIGHT_JOIN ${LEASES} l ON l.election = f.election`;
/** Never backwards: only an acquisition opens it, for a later term, and only the end of that one closes it. */
const FORWARD = "(f.term < ? OR (f.term = ? AND ? IS NULL))";
const SELECT_BOTH = `SELECT l.version, f.term AS fence_term FROM ${LEASES} l LEFT JOIN ${FENCES} f ON f.election = l.election WHERE l.election = ?`;
/** `SHARE`: readers of the fence do not exclude one another, only whoever changes it. */
const LOCK_FENCE = `SELECT term, term_id FROM ${FENCES} WHERE election = ? LOCK IN SHARE MODE`;
/** SERVER_STATUS_IN_TRANS of the protocol. */
const IN_TRANSACTION = 1;

interface UpdateResult {
  readonly affectedRows: number;
  readonly serverStatus?: number;
}

/** ER_SP_DOES_NOT_EXIST: what a savepoint outside a transaction comes to. */
const NO_SAVEPOINT = 1305;

/** MySQL and MariaDB through `mysql2`. */
export class MySqlDatabase implements SqlDatabase {
  readonly name: string = "mysql";
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: STORE_CLOCK,
  };
  readonly migration: readonly string[] = MYSQL_MIGRATION;
  readonly #clock: Clock;
  readonly #connections: MySqlConnections;

  constructor(pool: unknown, clock: Clock) {
    this.#clock = clock;
    this.#connections = new MySqlConnections(pool);
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    return await this.#run("get", election, signal, async (connection) => {
      const [rows] = await connection.query(statement(SELECT, [bytes(election)]));
      const [row] = rows as readonly Row[];
      if (Number(row?.["autocommit"]) !== 1) throw autocommitOff(election);
      return stored(row);
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, fence, signal } = options;
    const version = this.#clock.randomUuid();
    const set = SET + (keepsNonce ? "" : SET_NONCE_AT);
    const values = [version, ...columnValues(record)].map((value) => (typeof value === "string" ? bytes(value) : value));
    const where = [bytes(election), bytes(ifVersion)];
    const update = fence
      ? statement(
          `UPDATE ${JOINED} SET ${set}, f.term = ?, f.term_id = ? WHERE f.election = ? AND l.version = ? AND ${FORWARD}`,
          [...values, fence.term, fence.termId, ...where, fence.term, fence.term, fence.termId],
        )
      : statement(`UPDATE ${LEASES} l SET ${set} WHERE l.election = ? AND l.version = ?`, [...values, ...where]);
    return await this.#run("put", election, signal, async (connection) => {
      // The first acquisition of all makes the rows that every one competes for.
      if (ifVersion === NO_VERSION) for (const seed of SEEDS) await connection.query(statement(seed, [bytes(election)]));
      signal.throwIfAborted();
      const [{ affectedRows, serverStatus = 0 }] = (await connection.query(update)) as readonly [UpdateResult];
      if (serverStatus & IN_TRANSACTION) throw notCommitted({ store: this.name, operation: "put", election, writes: true });
      if (affectedRows > 0) return { stored: true, version };
      if (fence) await this.#mendFence(connection, election, fence, ifVersion);
      return { stored: false };
    });
  }

  /** Makes a fence's row again that is missing, for the next try. @throws {TermRegressedError} if it is there, and ahead. */
  async #mendFence(connection: MySqlPoolConnection, election: string, fence: Fence, ifVersion: string): Promise<void> {
    const [rows] = await connection.query(statement(SELECT_BOTH, [bytes(election)]));
    const missing = fenceIsMissing(election, fence, ifVersion, (rows as readonly Row[])[0]);
    if (missing) await connection.query(statement(SEED_FENCE, [bytes(election)]));
  }

  async migrate(): Promise<void> {
    const connection = await this.#connections.get();
    try {
      for (const sql of this.migration) await connection.query(statement(sql, []));
    } finally {
      this.#connections.release(connection);
    }
  }

  async fence(leadership: Fenced, connection: unknown): Promise<void> {
    const { query } = (connection ?? {}) as Partial<MySqlConnection>;
    if (typeof query !== "function")
      throw new ConfigurationError("fence() needs a connection of mysql2/promise, with a transaction begun on it.");
    const transaction = withPromises(connection as MySqlConnection);
    const [rows] = await transaction.query(statement(LOCK_FENCE, [bytes(leadership.election)]));
    await checkTransaction(transaction, leadership.election);
    checkFence(leadership, (rows as readonly Row[])[0]);
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #run<T>(
    operation: "get" | "put",
    election: string,
    signal: AbortSignal,
    act: (connection: MySqlPoolConnection) => Promise<T>,
  ): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    return await onOneConnection(this.#connections, label, signal, mysqlMeaning, this.#clock, act);
  }
}

/** @throws {UnsupportedError} outside a transaction, where a savepoint is gone as soon as it is made. */
async function checkTransaction(connection: MySqlConnection, election: string): Promise<void> {
  await connection.query(statement("SAVEPOINT leasehold_fence", []));
  try {
    await connection.query(statement("RELEASE SAVEPOINT leasehold_fence", []));
  } catch (error) {
    if ((error as { readonly errno?: unknown }).errno === NO_SAVEPOINT) throw notInTransaction(election);
    throw error;
  }
}

/** Without it a write would wait for somebody's COMMIT, and a read show what was there at the first one. */
function autocommitOff(election: string): ConfigurationError {
  return new ConfigurationError(
    "The connections of the pool given as mysql have autocommit off; give the store a pool, or a URL, with autocommit on.",
    { election },
  );
}

function bytes(text: string): Buffer {
  return Buffer.from(text, "utf8");
}
