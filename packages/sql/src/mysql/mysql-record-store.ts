import {
  IMPOSSIBLE_VERSION,
  type Fenced,
  type GetOptions,
  type LeaseRecord,
  type ListedRecord,
  type ListRecordsOptions,
  type PutOptions,
  type PutOutcome,
  type RecordRequestOptions,
  type StoredRecord,
} from "@leasehold/core/provider";
import { writtenAtWallMs } from "../clock.ts";
import { fenceIsMissing, outranks } from "../fence.ts";
import type { FenceSql } from "../fence-sql.ts";
import { listRows } from "../listing.ts";
import { PoolRecordStore, type Server } from "../pool-record-store.ts";
import { lockTimeoutMs } from "../requests.ts";
import {
  COLUMNS,
  columnValues,
  fenceTermOf,
  lostRow,
  NO_VERSION,
  selectFenceTerm,
  stored,
  type RecordTable,
  type Row,
} from "../schema.ts";
import type { FencedRecordStore } from "../sql-database.ts";
import { notCommitted, readInTransaction } from "../sql-errors.ts";
import { bytes, statement, type MySqlPoolConnection, type MySqlStatement } from "./mysql-driver.ts";
import { MySqlFence } from "./mysql-fence.ts";
import { boundedBy, type MySqlConnections } from "./mysql-pool.ts";
import { inOwnTransaction } from "./own-transaction.ts";

/**
 * Names the server since its last start. `UUID_SHORT()` counts up from the second of the start times 2^24, so `>> 24` gives that
 * second. MariaDB skips the version comment, because not all of its versions have a variable like `server_uuid`.
 */
const SERVER = "CONCAT_WS(' ', @@hostname, @@port, UUID_SHORT() >> 24 /*!50700 , @@server_uuid */)";
const SET_NONCE_AT = `, l.nonce_at = UTC_TIMESTAMP(6), l.nonce_clock = ${SERVER}, l.nonce_wall_ms = ?`;
/**
 * Keeps the fence from moving backwards. Only an acquisition opens the fence, for a later term. Only the end of that term closes
 * it.
 */
const FORWARD = "(f.term < ? OR (f.term = ? AND ? IS NULL))";
/** SERVER_STATUS_IN_TRANS and SERVER_STATUS_AUTOCOMMIT of the protocol. */
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

interface UpdateResult {
  readonly affectedRows: number;
  readonly serverStatus: number;
}

/** The statements on one table, and parts of them. Their parameters are the row's key. */
interface Statements {
  readonly select: string;
  /** Absent if the records are their own fences. */
  readonly fences?: FenceStatements;
  readonly seeds: readonly string[];
  /** The assignments of an update. Their parameters are the version and the columns. */
  readonly set: string;
  readonly whereRow: string;
}

/** The statements on the fences of a table, and on both. */
interface FenceStatements {
  readonly seed: string;
  readonly selectTerm: string;
  readonly selectBoth: string;
  /**
   * Joins both rows, so that one statement writes them in one transaction. The fence is locked first. While a guarded transaction
   * makes this statement wait, the lease's row is still free, and renewals go on.
   */
  readonly joined: string;
}

export type MySqlServer = Server<MySqlConnections, MySqlPoolConnection>;

export class MySqlRecordStore extends PoolRecordStore<MySqlConnections, MySqlPoolConnection> implements FencedRecordStore {
  readonly name: string = "mysql";
  readonly #statements: Statements;
  readonly #fence: MySqlFence;

  constructor(table: RecordTable, server: MySqlServer) {
    super(table, server);
    this.#statements = statementsOf(table);
    this.#fence = new MySqlFence(table);
  }

  async get(election: string, options: GetOptions): Promise<StoredRecord | undefined> {
    return await this.run("get", election, options, async (connection) => {
      const { rows, isLatest } = await this.#readLatest(connection, election, this.#statements.select, this.#key(election));
      const found = stored(rows[0]);
      const { fences } = this.#statements;
      if (found || !fences) return found;
      const readFence = async (): Promise<Row | undefined> => {
        const [terms] = await connection.query(statement(fences.selectTerm, this.#key(election)));
        return (terms as readonly Row[])[0];
      };
      return lostRow(isLatest ? await readFence() : await inOwnTransaction(connection, readFence));
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, signal } = options;
    const { fences } = this.#statements;
    const fence = fences && options.fence;
    // `IMPOSSIBLE_VERSION` probes the right to write. `AND FALSE` makes the statement lock no row. With autocommit off such a
    // lock would last until the next round trip.
    const whereRow = ifVersion === IMPOSSIBLE_VERSION ? `${this.#statements.whereRow} AND FALSE` : this.#statements.whereRow;
    const key = this.#key(election);
    const version = this.server.clock.randomUuid();
    const set = this.#statements.set + (keepsNonce ? "" : SET_NONCE_AT);
    const columns = [version, ...columnValues(record)].map((value) => (typeof value === "string" ? bytes(value) : value));
    const where = [...key, bytes(ifVersion)];
    const bounded = (sql: string): string => boundedBy(lockTimeoutMs(options), sql);
    const update = (): MySqlStatement => {
      const values = keepsNonce ? columns : [...columns, writtenAtWallMs(this.server.clock)];
      if (!fence)
        return statement(bounded(`UPDATE ${this.table.name} l SET ${set} WHERE ${whereRow} AND l.version = ?`), [
          ...values,
          ...where,
        ]);
      return statement(
        bounded(
          `UPDATE ${fences.joined} SET ${set}, f.term = ?, f.term_id = ? WHERE f.election = ? AND l.version = ? AND ${FORWARD}`,
        ),
        [...values, fence.term, fence.termId, ...where, outranks(record, fence), fence.term, fence.termId],
      );
    };
    return await this.run("put", election, options, async (connection) => {
      const write = async (): Promise<UpdateResult> => {
        // The election's first acquisition makes the rows for which all candidates compete.
        if (ifVersion === NO_VERSION) {
          if (!this.server.connections.hasKeys) await this.server.connections.checkKeys(connection);
          for (const seed of this.#statements.seeds) await connection.query(statement(bounded(seed), key));
        }
        signal.throwIfAborted();
        const [result] = (await connection.query(update())) as readonly [UpdateResult];
        return result;
      };
      const outcomeOf = async ({ affectedRows }: UpdateResult): Promise<PutOutcome> => {
        if (affectedRows > 0) return { stored: true, version };
        if (fence && this.table.fences) {
          const both = (await connection.query(statement(fences.selectBoth, key))) as readonly [readonly Row[]];
          const isMissing = fenceIsMissing(election, outranks(record, fence), ifVersion, both[0][0], this.table.fences);
          // Makes the fence's row, so that the next try succeeds.
          if (isMissing) await connection.query(statement(fences.seed, key));
        }
        return { stored: false };
      };
      const result = await write();
      const { serverStatus } = result;
      if ((serverStatus & IN_TRANSACTION) === 0) return await outcomeOf(result);
      if (serverStatus & AUTOCOMMIT) throw notCommitted({ store: this.name, operation: "put", election });
      return await inOwnTransaction(connection, async () => outcomeOf(await write()));
    });
  }

  async fenceTerm(election: string, options: RecordRequestOptions): Promise<number | undefined> {
    const { fences } = this.#statements;
    if (!fences) return undefined;
    return await this.run("get", election, options, async (connection) => {
      const { rows } = await this.#readLatest(connection, election, fences.selectTerm, this.#key(election));
      return fenceTermOf(rows[0]);
    });
  }

  async fence(leadership: Fenced, connection: unknown): Promise<void> {
    this.server.connections.checkOpen();
    await this.#fence.check(leadership, connection, async (select, values) => {
      const limits = { signal: new AbortController().signal };
      return await this.run("get", leadership.election, limits, async (other) => {
        const [rows] = await other.query(statement(select, values));
        return (rows as readonly Row[])[0];
      });
    });
  }

  fenceSql(leadership: Fenced): FenceSql {
    return this.#fence.sql(leadership);
  }

  /**
   * Returns whether the connection was given with a transaction under way. MariaDB shows it beside the row; MySQL needs one more
   * statement.
   */
  async #isInTransaction(connection: MySqlPoolConnection, row: Row | undefined): Promise<boolean> {
    const shown = row?.["in_transaction"];
    if (shown !== undefined) return Number(shown) !== 0;
    if (this.server.connections.isOwn) return false;
    const [{ serverStatus }] = (await connection.query(statement("DO 0", []))) as readonly [UpdateResult];
    return (serverStatus & IN_TRANSACTION) !== 0;
  }

  list(prefix: string, options: ListRecordsOptions): AsyncIterable<ListedRecord> {
    const numbered = (): string => "?";
    return listRows(prefix, options, this.table, numbered, async ({ column, clauses, values }, limits) => {
      return await this.run("list", prefix, limits, async (connection) => {
        const page = `(SELECT * FROM ${this.table.name} ${clauses}) AS l`;
        const { rows } = await this.#readLatest(
          connection,
          prefix,
          `${selectOf(page, "TRUE")} ORDER BY l.${column}`,
          values.map(bytes),
        );
        // The first row shows the session, even if the page has no row.
        return rows.filter((row) => row["election"] !== null);
      });
    });
  }

  /**
   * Reads the latest committed rows by a statement of {@link selectOf}. In a session with autocommit off, the read uses a transaction
   * of its own, and `isLatest` is false.
   */
  async #readLatest(
    connection: MySqlPoolConnection,
    election: string,
    select: string,
    values: readonly Buffer[],
  ): Promise<{ readonly rows: readonly Row[]; readonly isLatest: boolean }> {
    const read = async (): Promise<readonly Row[]> => {
      const [rows] = await connection.query(statement(select, [...values]));
      return rows as readonly Row[];
    };
    const rows = await read();
    const [row] = rows;
    // With autocommit off, this read may show the state at the beginning of a transaction that was left open.
    const isLatest = Number(row?.["autocommit"]) === 1;
    if (isLatest && (await this.#isInTransaction(connection, row))) throw readInTransaction({ store: this.name, election });
    return { rows: isLatest ? rows : await inOwnTransaction(connection, read), isLatest };
  }

  #key(election: string): Buffer[] {
    return this.table.keyOf(election).map(bytes);
  }
}

function statementsOf({ name, key, fences, retentionMs }: RecordTable): Statements {
  const whereRow = key.map((column) => `l.${column} = ?`).join(" AND ");
  const expiresAt =
    retentionMs === undefined ? [] : [`expires_at = UTC_TIMESTAMP(6) + INTERVAL ${Math.ceil(retentionMs * 1_000)} MICROSECOND`];
  const ofFences = fences === undefined ? undefined : fenceStatementsOf(name, fences);
  const seed = `INSERT IGNORE INTO ${name} SET ${[...key.map((column) => `${column} = ?`), ...expiresAt].join(", ")}`;
  return {
    select: selectOf(`${name} l`, whereRow),
    ...(ofFences ? { fences: ofFences } : {}),
    seeds: ofFences ? [seed, ofFences.seed] : [seed],
    set: [...["version", ...COLUMNS].map((column) => `${column} = ?`), ...expiresAt].map((one) => `l.${one}`).join(", "),
    whereRow,
  };
}

function fenceStatementsOf(leases: string, fences: string): FenceStatements {
  return {
    seed: `INSERT IGNORE INTO ${fences} (election) VALUES (?)`,
    selectTerm: selectFenceTerm(fences, "?"),
    selectBoth: `SELECT l.version, f.term AS fence_term FROM ${leases} l LEFT JOIN ${fences} f ON f.election = l.election WHERE l.election = ?`,
    joined: `${fences} f STRAIGHT_JOIN ${leases} l ON l.election = f.election`,
  };
}

/**
 * Returns a statement that reads rows of `l`. The result always has a row, because it also shows whether the session has autocommit
 * on.
 */
function selectOf(rows: string, condition: string): string {
  return `SELECT l.*, @@autocommit AS autocommit, /*M!100100 @@in_transaction AS in_transaction, */
  CASE WHEN l.nonce_clock = ${SERVER} THEN TIMESTAMPDIFF(MICROSECOND, l.nonce_at, UTC_TIMESTAMP(6)) / 1000 END AS age_ms
FROM (SELECT 1) AS always LEFT JOIN ${rows} ON ${condition}`;
}
