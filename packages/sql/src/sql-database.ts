import type { Fenced, RecordRequestOptions, RecordStore } from "@leasehold/core/provider";
import type { Warning } from "./layout.ts";

/** Records that guard the transactions of their users. */
export interface FencedRecordStore extends RecordStore {
  /** Locks and checks the fence inside the caller's transaction. @throws {FencedError} */
  fence(leadership: Fenced, connection: unknown): Promise<void>;
}

/** A database of one kind: its leases, and what else `SqlLeaseStore` needs. */
export interface SqlDatabase extends FencedRecordStore {
  /** The statements that create the tables, each safe to repeat. */
  readonly migration: readonly string[];
  /** Creates the tables, unless they exist. */
  migrate(): Promise<void>;
  /**
   * Checks that the tables keep candidates apart, and returns the settings of the server that lose acknowledged writes, a sentence each.
   * @throws {StoreError} for tables that lack what leases rest on.
   */
  inspect(limits: RecordRequestOptions): Promise<readonly Warning[]>;
  /** Returns the occurrences of one election, on the connections of this database. */
  occurrences(election: string, retentionMs: number): FencedRecordStore;
  /** Closes what the store has opened itself. */
  close(): Promise<void>;
}
