import { type Clock, LocalStoreWarnings, sleep, type StoreWarnings } from "@leasehold/core/provider";
import { leaseTable, occurrenceTable } from "../schema.ts";
import type { FencedRecordStore, SqlDatabase } from "../sql-database.ts";
import { migrating } from "../sql-errors.ts";
import { tablesOf, type Tables } from "../tables.ts";
import { hostClock, type HostClock } from "./host-clock.ts";
import { networkFileWarning } from "./network-file-system.ts";
import { sqliteMeaning } from "./sqlite-errors.ts";
import { SqliteFiles } from "./sqlite-files.ts";
import { inPresentTransaction, type SqliteHandle } from "./sqlite-handle.ts";
import { SqliteRecordStore } from "./sqlite-record-store.ts";
import { sqliteMigration } from "./sqlite-schema.ts";

/** The time that a transaction waits for others to end. */
const BEGIN_TIMEOUT_MS = 5_000;
const BUSY_MS = 10;

/** SQLite, for several processes on one host with a local disk. */
export class SqliteDatabase extends SqliteRecordStore implements SqlDatabase {
  readonly migration: readonly string[];
  readonly warnings: StoreWarnings = new LocalStoreWarnings("A SQLite file");
  readonly #tables: Tables;
  readonly #files: SqliteFiles;
  readonly #clock: Clock;
  readonly #host: HostClock;

  constructor(given: unknown, clock: Clock, { table, host = hostClock }: { table?: string; host?: HostClock } = {}) {
    const tables = tablesOf(table, { quote: '"', hasSchemas: false });
    const files = new SqliteFiles(given, tables, (path) => {
      const warning = networkFileWarning(path);
      if (warning !== undefined) this.warnings.warnOnce("LEASEHOLD_NETWORK_FILE", path, warning);
    });
    super(leaseTable(tables), tables, files, clock, host);
    const { data, leases } = sqliteMigration(tables);
    this.migration = [...data, ...leases];
    this.#tables = tables;
    this.#files = files;
    this.#clock = clock;
    this.#host = host;
  }

  occurrences(election: string, retentionMs: number): FencedRecordStore {
    const table = occurrenceTable(this.#tables, election, retentionMs);
    return new SqliteRecordStore(table, this.#tables, this.#files, this.#clock, this.#host);
  }

  /** Waits without blocking the event loop until no other transaction has the lock, for at most {@link BEGIN_TIMEOUT_MS}. */
  async transaction<T>(work: (connection: unknown) => Promise<T>): Promise<T> {
    return await this.#files.withHandle(async (handle, begin) => {
      const timeUp = this.#clock.monotonicMs() + BEGIN_TIMEOUT_MS;
      while (!begins(handle, begin, this.#clock.monotonicMs() >= timeUp)) await sleep(this.#clock, BUSY_MS);
      try {
        const result = await work(handle);
        handle.exec("COMMIT");
        return result;
      } catch (error) {
        if (inPresentTransaction(handle)) handle.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Opens the files, which checks them. Returns no warnings, because the store makes all settings itself. */
  async inspect(): Promise<readonly string[]> {
    await this.#files.open();
    return [];
  }

  async migrate(): Promise<void> {
    await migrating(this.name, sqliteMeaning, () => this.#files.open());
  }

  async close(): Promise<void> {
    await this.#files.close();
  }
}

/** Returns false if another transaction is under way, on this handle or another. Throws at the last try. */
function begins(handle: SqliteHandle, begin: string, isLastTry: boolean): boolean {
  try {
    handle.exec(begin);
    return true;
  } catch (error) {
    if (isLastTry || !(inPresentTransaction(handle) || sqliteMeaning(error)?.code === "STORE_CONFLICT")) throw error;
    return false;
  }
}
