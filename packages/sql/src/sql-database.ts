import type { Fenced, RecordRequestOptions, RecordStore } from "@leasehold/core/provider";
import type { FenceSql } from "./fence-sql.ts";

/** A record store that can also guard transactions of its users. */
export interface FencedRecordStore extends RecordStore {
  /** Locks and checks the fence inside the caller's transaction. @throws {FencedError} if the leadership has ended. */
  fence(leadership: Fenced, connection: unknown): Promise<void>;
  /** Returns the statement of the fence for any client. @throws {UnsupportedError} if the fence is not beside the data. */
  fenceSql(leadership: Fenced): FenceSql;
}

/** The leases in a database of one kind, and everything else that `SqlLeaseStore` needs of that database. */
export interface SqlDatabase extends FencedRecordStore {
  /** The statements that create the tables. Each is safe to repeat. */
  readonly migration: readonly string[];
  migrate(): Promise<void>;
  /**
   * Checks the unique keys of the tables. Returns a sentence for each setting of the server that may lose acknowledged writes.
   * @throws {StoreError} for a table that lacks its key or has no transactions.
   */
  inspect(limits: RecordRequestOptions): Promise<readonly string[]>;
  /**
   * Runs `work` in a transaction, on a connection in the driver's own form. Commits after it, and rolls back if it throws.
   * @throws what `work` or the driver throws.
   */
  transaction<T>(work: (connection: unknown) => Promise<T>): Promise<T>;
  occurrences(election: string, retentionMs: number): FencedRecordStore;
  /** Closes the files or the pool that the store has opened itself. */
  close(): Promise<void>;
}
