import type { DatabaseSync } from "node:sqlite";
import { ConfigurationError, UnsupportedError, type Clock } from "@leasehold/core";
import {
  sleep,
  type Fence,
  type Fenced,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { STORE_CLOCK, writtenAtWallMs } from "../clock.ts";
import { checkFence, fenceIsMissing, notInTransaction, outranks } from "../fence.ts";
import {
  COLUMNS,
  columnValues,
  FENCES,
  FREE_TEXT,
  LEASES,
  lostRow,
  NO_VERSION,
  NONCE_COLUMNS,
  selectFenceTerm,
  stored,
  type RecordTable,
} from "../schema.ts";
import type { FencedRecordStore } from "../sql-database.ts";
import { toStoreError } from "../sql-errors.ts";
import type { HostClock } from "./host-clock.ts";
import { sqliteMeaning } from "./sqlite-errors.ts";
import type { SqliteFiles } from "./sqlite-files.ts";

/** The present by SQLite's own clock, which is the host's wall clock, in milliseconds since the Unix epoch. */
const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
/** As text, Node 22 reads them no further than a NUL. */
const AS_BYTES = FREE_TEXT.map((column) => `CAST(${column} AS BLOB) AS ${column}`).join(", ");
/** The longest wait for other processes' locks before another try. */
const BUSY_MS = 10;

const SEED_FENCE = `INSERT INTO fenced.${FENCES} (election) VALUES (?) ON CONFLICT DO NOTHING`;
/** Never backwards: only an acquisition opens it, for a later term, and only the end of that one closes it. */
const UPDATE_FENCE = `UPDATE fenced.${FENCES} SET term = ?, term_id = ? WHERE election = ? AND (term < ? OR (term = ? AND ? IS NULL))`;
const SELECT_BOTH = `SELECT version, (SELECT term FROM fenced.${FENCES} f WHERE f.election = l.election) AS fence_term FROM ${LEASES} l WHERE election = ?`;
/** Changes nothing, but takes the lock that keeps the fence as it is until the transaction ends. */
const LOCK_FENCE = `UPDATE ${FENCES} SET term = term WHERE election = ?`;
const SELECT_FENCE = `SELECT term, term_id FROM ${FENCES} WHERE election = ?`;

/** The statements on one table; the parameters are a row's key, where nothing else is said. */
interface Statements {
  /** Its first parameters are the present host and its time. */
  readonly select: string;
  readonly seed: string;
  /** Its parameters are the version and the columns, those of a new nonce, the key, and the version to replace. */
  readonly update: (keepsNonce: boolean) => string;
}

/** The rows of one table in the file of the leases. */
export class SqliteRecordStore implements FencedRecordStore {
  readonly name: string = "sqlite";
  readonly capabilities: RecordStoreCapabilities;
  readonly #table: RecordTable;
  readonly #statements: Statements;
  readonly #files: SqliteFiles;
  readonly #clock: Clock;
  readonly #host: HostClock;

  constructor(table: RecordTable, files: SqliteFiles, clock: Clock, host: HostClock) {
    this.capabilities = { maxValueBytes: 65_536, fence: table.fences ? "atomic" : "none", storeClock: STORE_CLOCK };
    this.#table = table;
    this.#statements = statementsOf(table);
    this.#files = files;
    this.#clock = clock;
    this.#host = host;
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    return await this.#run("get", election, signal, (database) => {
      const select = database.prepare(this.#statements.select);
      // A number that JavaScript cannot hold would else be an error of the store's, and not the record's.
      select.setReadBigInts(true);
      const found = stored(select.get(this.#host.identity, this.#host.nowMs(), ...this.#table.keyOf(election)));
      if (found || !this.#table.fences) return found;
      return lostRow(database.prepare(selectFenceTerm("?")).get(election));
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, signal } = options;
    const fence = this.#table.fences && options.fence;
    const { seed, update } = this.#statements;
    const key = this.#table.keyOf(election);
    const version = this.#clock.randomUuid();
    const columns = [version, ...columnValues(record)];
    return await this.#run("put", election, signal, (database) => {
      const write = (): boolean => {
        // The first acquisition of all makes the row that every one competes for.
        if (ifVersion === NO_VERSION) database.prepare(seed).run(...key);
        if (fence && !moveFence(database, election, fence, outranks(record, fence), ifVersion)) return false;
        const nonceAt = keepsNonce ? [] : [this.#host.nowMs(), this.#host.identity, writtenAtWallMs(this.#clock)];
        return database.prepare(update(keepsNonce)).run(...columns, ...nonceAt, ...key, ifVersion).changes === 1;
      };
      const written = fence ? inBothFiles(database, write) : write();
      return written ? { stored: true, version } : { stored: false };
    });
  }

  fence(leadership: Fenced, connection: unknown): Promise<void> {
    const { election } = leadership;
    if (!this.#table.fences) {
      throw new UnsupportedError(
        "SQLite keeps occurrences in another file than the data: fence by the leadership of an election, which is beside the data.",
        { election },
      );
    }
    const database = connection as DatabaseSync;
    if (typeof database?.prepare !== "function" || typeof database.exec !== "function") {
      throw new ConfigurationError("fence() needs a DatabaseSync of node:sqlite, opened on the same file as the store.");
    }
    this.#files.checkOpen();
    if (!isInTransaction(database)) throw notInTransaction(election, FENCES);
    database.prepare(LOCK_FENCE).run(election);
    checkFence(leadership, database.prepare(SELECT_FENCE).get(election));
    return Promise.resolve();
  }

  /** Runs statements as soon as other processes' locks let it; `node:sqlite` would block the event loop meanwhile. */
  async #run<T>(operation: "get" | "put", election: string, signal: AbortSignal, act: (database: DatabaseSync) => T): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    for (;;) {
      try {
        const database = await this.#files.open();
        signal.throwIfAborted();
        return act(database);
      } catch (error) {
        const storeError = toStoreError(error, label, sqliteMeaning);
        if (signal.aborted || (storeError as { code?: string }).code !== "STORE_CONFLICT") throw storeError;
      }
      await sleep(this.#clock, BUSY_MS * (0.5 + this.#clock.random() / 2), signal);
    }
  }
}

function statementsOf({ name, key, retentionMs }: RecordTable): Statements {
  const whereRow = key.map((column) => `${column} = ?`).join(" AND ");
  const expiresAt = retentionMs === undefined ? [] : [["expires_at", `${NOW_MS} + ${Math.ceil(retentionMs)}`]];
  const seeded = [...key.map((column) => [column, "?"]), ...expiresAt];
  const [columns, values] = [0, 1].map((part) => seeded.map((pair) => pair[part]).join(", "));
  return {
    select: `SELECT *, ${AS_BYTES}, CASE WHEN nonce_clock = ? THEN ? - nonce_at END AS age_ms FROM ${name} WHERE ${whereRow}`,
    seed: `INSERT INTO ${name} (${columns}) VALUES (${values}) ON CONFLICT DO NOTHING`,
    update: (keepsNonce) => {
      const given = ["version", ...COLUMNS, ...(keepsNonce ? [] : NONCE_COLUMNS)].map((column) => [column, "?"]);
      const set = [...given, ...expiresAt].map(([column, value]) => `${column} = ${value}`).join(", ");
      return `UPDATE ${name} SET ${set} WHERE ${whereRow} AND version = ?`;
    },
  };
}

/** Moves the fence; reports whether it was behind the write. @throws {TermRegressedError} if it is ahead. */
function moveFence(database: DatabaseSync, election: string, { term, termId }: Fence, below: number, ifVersion: string): boolean {
  database.prepare(SEED_FENCE).run(election);
  if (database.prepare(UPDATE_FENCE).run(term, termId, election, below, term, termId).changes === 1) return true;
  fenceIsMissing(election, below, ifVersion, database.prepare(SELECT_BOTH).get(election));
  return false;
}

/** One transaction cannot begin in another. Node itself tells it only from 22.16 on. */
function isInTransaction(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN");
  } catch {
    return true;
  }
  database.exec("ROLLBACK");
  return false;
}

/** Lease and fence are written together, or neither is. */
function inBothFiles(database: DatabaseSync, write: () => boolean): boolean {
  lockBoth(database);
  try {
    const written = write();
    database.exec(written ? "COMMIT" : "ROLLBACK");
    return written;
  } catch (error) {
    if (isInTransaction(database)) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Begins a transaction that has locked both files, or neither. They are committed at one instant, unless one is in WAL
 * mode. Then the leases must come first: a fence that a killed process left ahead of its lease would bar everybody, and
 * one that is behind is mended by the next acquisition. Files in WAL mode are committed in their order, before all others.
 */
function lockBoth(database: DatabaseSync): void {
  database.exec("BEGIN IMMEDIATE");
  if (journalOf(database, "fenced") !== "wal" || journalOf(database, "main") === "wal") return;
  database.exec("ROLLBACK");
  database.exec("PRAGMA main.journal_mode = WAL");
  database.exec("BEGIN IMMEDIATE");
}

function journalOf(database: DatabaseSync, schema: string): unknown {
  return database.prepare(`PRAGMA ${schema}.journal_mode`).get()?.["journal_mode"];
}
