import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  ConfigurationError,
  sleep,
  type Clock,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core";
import { COLUMNS, columnValues, FENCES, LEASES, NO_VERSION, STORE_CLOCK, stored } from "../lease-row.ts";
import { checkFence, fenceIsMissing, notInTransaction, type Fenced, type SqlDatabase } from "../sql-database.ts";
import { toStoreError } from "../sql-errors.ts";
import { sqliteMeaning } from "./sqlite-errors.ts";
import { FENCES_TABLE, LEASES_TABLE } from "./sqlite-schema.ts";

/** Beside the file of the data: a guarded transaction locks all of that one, and renewals must go on meanwhile. */
const LEASE_FILE_SUFFIX = "-leasehold";
/** The present by SQLite's own clock, in milliseconds since the Unix epoch. */
const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
/** How long to wait for other processes' locks before trying again, at most. */
const BUSY_MS = 10;

const SELECT = `SELECT *, ${NOW_MS} - nonce_at AS age_ms FROM ${LEASES} WHERE election = ?`;
const SEED_LEASE = `INSERT INTO ${LEASES} (election) VALUES (?) ON CONFLICT DO NOTHING`;
const SEED_FENCE = `INSERT INTO fenced.${FENCES} (election) VALUES (?) ON CONFLICT DO NOTHING`;
const SET = ["version", ...COLUMNS].map((column) => `${column} = ?`).join(", ");
const UPDATE_NONCE = `UPDATE ${LEASES} SET ${SET}, nonce_at = ${NOW_MS} WHERE election = ? AND version = ?`;
const UPDATE_REST = `UPDATE ${LEASES} SET ${SET} WHERE election = ? AND version = ?`;
/** Never backwards: only an acquisition opens it, for a later term, and only the end of that one closes it. */
const UPDATE_FENCE = `UPDATE fenced.${FENCES} SET term = ?1, term_id = ?2 WHERE election = ?3 AND (term < ?1 OR (term = ?1 AND ?2 IS NULL))`;
const SELECT_BOTH = `SELECT version, (SELECT term FROM fenced.${FENCES} f WHERE f.election = l.election) AS fence_term FROM ${LEASES} l WHERE election = ?`;
/** Changes nothing, but takes the lock that keeps the fence as it is until the transaction ends. */
const LOCK_FENCE = `UPDATE ${FENCES} SET term = term WHERE election = ?`;
const SELECT_FENCE = `SELECT term, term_id FROM ${FENCES} WHERE election = ?`;

/** SQLite through `node:sqlite`: for several processes on one host, on a local disk. */
export class SqliteDatabase implements SqlDatabase {
  readonly name: string = "sqlite";
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: STORE_CLOCK,
  };
  readonly migration: readonly string[] = [FENCES_TABLE, LEASES_TABLE];
  readonly #path: string;
  readonly #clock: Clock;
  #opened: Promise<DatabaseSync> | undefined;

  /** @throws {ConfigurationError} for a path that processes cannot share. */
  constructor(path: string, clock: Clock) {
    if (typeof path !== "string" || path === "" || path.includes(":memory:") || path.startsWith("file:")) {
      throw new ConfigurationError(
        `sqlite is ${JSON.stringify(path) ?? "missing"}; it must be the path of a database file. Within one process, use MemoryLeaseStore.`,
      );
    }
    this.#path = path;
    this.#clock = clock;
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    return await this.#run("get", election, signal, (database) => {
      const select = database.prepare(SELECT);
      // A number that JavaScript cannot hold would else be an error of the store's, and not the record's.
      select.setReadBigInts(true);
      return stored(select.get(election));
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, fence, signal } = options;
    const version = this.#clock.randomUuid();
    const values = [version, ...columnValues(record), election, ifVersion];
    return await this.#run("put", election, signal, (database) => {
      const update = (): boolean => database.prepare(keepsNonce ? UPDATE_REST : UPDATE_NONCE).run(...values).changes === 1;
      if (!fence) return update() ? { stored: true, version } : { stored: false };
      lockBoth(database);
      try {
        for (const seed of [SEED_LEASE, SEED_FENCE]) database.prepare(seed).run(election);
        const fenced = database.prepare(UPDATE_FENCE).run(fence.term, fence.termId, election).changes === 1;
        if (!fenced) fenceIsMissing(election, fence, ifVersion, database.prepare(SELECT_BOTH).get(election));
        const written = fenced && update();
        database.exec(written ? "COMMIT" : "ROLLBACK");
        return written ? { stored: true, version } : { stored: false };
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Nothing to do: the first use of the files creates the tables. */
  async migrate(): Promise<void> {
    await this.#open();
  }

  fence(leadership: Fenced, connection: unknown): Promise<void> {
    const database = connection as DatabaseSync;
    if (typeof database?.prepare !== "function" || typeof database.isTransaction !== "boolean") {
      throw new ConfigurationError("fence() needs a DatabaseSync of node:sqlite, opened on the same file as the store.");
    }
    if (!database.isTransaction) throw notInTransaction(leadership.election);
    database.prepare(LOCK_FENCE).run(leadership.election);
    checkFence(leadership, database.prepare(SELECT_FENCE).get(leadership.election));
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    (await opened?.catch(() => undefined))?.close();
  }

  /** Runs statements as soon as other processes' locks let it; `node:sqlite` would block the event loop meanwhile. */
  async #run<T>(operation: "get" | "put", election: string, signal: AbortSignal, act: (database: DatabaseSync) => T): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    for (;;) {
      try {
        const database = await this.#open();
        signal.throwIfAborted();
        return act(database);
      } catch (error) {
        const storeError = toStoreError(error, label, sqliteMeaning);
        if (signal.aborted || (storeError as { code?: string }).code !== "STORE_CONFLICT") throw storeError;
      }
      await sleep(this.#clock, BUSY_MS * (0.5 + this.#clock.random() / 2), signal);
    }
  }

  async #open(): Promise<DatabaseSync> {
    this.#opened ??= this.#openFiles();
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async #openFiles(): Promise<DatabaseSync> {
    // Loaded when it is needed: Node warns about it where it is experimental.
    const { DatabaseSync: Database } = await import("node:sqlite");
    const path = await canonical(this.#path);
    const database = new Database(`${path}${LEASE_FILE_SUFFIX}`, { timeout: 0 });
    try {
      database.exec("PRAGMA synchronous = FULL");
      database.prepare("ATTACH ? AS fenced").run(path);
      database.exec("PRAGMA fenced.synchronous = FULL");
      database.exec(LEASES_TABLE);
      database.exec(FENCES_TABLE.replace(FENCES, `fenced.${FENCES}`));
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
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

/** The one name of a file that may have several, so that all who share it share its leases; of one yet to be made, too. */
async function canonical(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));
  }
}
