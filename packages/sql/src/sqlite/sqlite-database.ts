import { type Clock, LocalStoreWarnings, type StoreWarnings } from "@leasehold/core/provider";
import type { Warning } from "../layout.ts";
import { LEASE_TABLE, occurrenceTable } from "../schema.ts";
import type { FencedRecordStore, SqlDatabase } from "../sql-database.ts";
import { migrating } from "../sql-errors.ts";
import { hostClock, type HostClock } from "./host-clock.ts";
import { networkFileWarning } from "./network-file-system.ts";
import { sqliteMeaning } from "./sqlite-errors.ts";
import { SqliteFiles } from "./sqlite-files.ts";
import { SqliteRecordStore } from "./sqlite-record-store.ts";
import { FENCES_TABLE, GUARDS_TABLE, LEASES_TABLE, OCCURRENCES_TABLE } from "./sqlite-schema.ts";

/** SQLite, for several processes on one host with a local disk. */
export class SqliteDatabase extends SqliteRecordStore implements SqlDatabase {
  readonly migration: readonly string[] = [FENCES_TABLE, GUARDS_TABLE, LEASES_TABLE, OCCURRENCES_TABLE];
  readonly warnings: StoreWarnings = new LocalStoreWarnings("A SQLite file");
  readonly #files: SqliteFiles;
  readonly #clock: Clock;
  readonly #host: HostClock;

  /**
   * @param given the path of a file, or an open handle.
   * @throws {ConfigurationError} for a path that processes cannot share, and for an object that is not a handle.
   */
  constructor(given: unknown, clock: Clock, host: HostClock = hostClock) {
    const files = new SqliteFiles(given, (path) => {
      const warning = networkFileWarning(path);
      if (warning !== undefined) this.warnings.warnOnce("LEASEHOLD_NETWORK_FILE", path, warning);
    });
    super(LEASE_TABLE, files, clock, host);
    this.#files = files;
    this.#clock = clock;
    this.#host = host;
  }

  occurrences(election: string, retentionMs: number): FencedRecordStore {
    return new SqliteRecordStore(occurrenceTable(election, retentionMs), this.#files, this.#clock, this.#host);
  }

  /** Opens the files, which checks them. Returns no warnings, because the store makes all settings itself. */
  async inspect(): Promise<readonly Warning[]> {
    await this.#files.open();
    return [];
  }

  /** Opens the files: their first use creates the tables. */
  async migrate(): Promise<void> {
    await migrating(this.name, sqliteMeaning, () => this.#files.open());
  }

  async close(): Promise<void> {
    await this.#files.close();
  }
}
