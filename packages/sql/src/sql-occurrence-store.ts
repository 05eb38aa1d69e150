import { type Clock, RecordOccurrenceStore, type Fenced } from "@leasehold/core/provider";
import type { FenceSql } from "./fence-sql.ts";
import type { SqlConnection, SqlLeaseStoreOptions } from "./options.ts";
import type { FencedRecordStore } from "./sql-database.ts";

/** The occurrences of one election's schedule. Each is a row of `leasehold_occurrences`; see `SqlLeaseStore.occurrences`. */
export class SqlOccurrenceStore<Options extends SqlLeaseStoreOptions = SqlLeaseStoreOptions> extends RecordOccurrenceStore {
  readonly #records: FencedRecordStore;

  constructor(records: FencedRecordStore, clock: Clock) {
    super(records, { clock });
    this.#records = records;
  }

  /**
   * Makes the caller's transaction depend on this claim of an occurrence, as `SqlLeaseStore.fence` does for a leadership.
   *
   * It locks the occurrence's own row, which renewals write too. Until the transaction ends, no other candidate can take the
   * occurrence over, and its holder cannot renew it. Keep the transaction much shorter than the claim.
   *
   * @param connection a connection as for `SqlLeaseStore.fence`, except of SQLite.
   * @throws {FencedError} if the claim has ended: roll back. {UnsupportedError} outside a transaction. On SQLite it is always
   *   thrown, because the occurrences are in another file than the data. Any error of the driver is thrown unchanged.
   */
  async fence(leadership: Fenced, connection: SqlConnection<Options>): Promise<void> {
    await this.#records.fence(leadership, connection);
  }

  /** Returns the statement of the claim's fence, as `SqlLeaseStore.fenceSql` does for a leadership. */
  fenceSql(leadership: Fenced): FenceSql {
    return this.#records.fenceSql(leadership);
  }
}
