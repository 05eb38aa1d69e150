import { RecordOccurrenceStore, type Fenced } from "@leasehold/core/provider";
import { DynamoDBRecordStore } from "./dynamodb-record-store.ts";
import { fenceOn, type DynamoDBFence } from "./fence.ts";
import { occurrenceKey } from "./schema.ts";
import type { LeaseTable } from "./lease-table.ts";

/**
 * The occurrences of one election's schedule, as returned by `DynamoDBLeaseStore.occurrences`. Each is an item of its own in the
 * election's partition, with the time after which DynamoDB may delete it.
 */
export class DynamoDBOccurrenceStore extends RecordOccurrenceStore {
  readonly #table: LeaseTable;
  readonly #election: string;

  constructor(table: LeaseTable, election: string, retentionMs: number) {
    const keyOf = occurrenceKey.bind(undefined, election);
    super(new DynamoDBRecordStore(table, { keyOf, retentionMs }), { clock: table.clock });
    this.#table = table;
    this.#election = election;
  }

  /**
   * Returns the entry that makes a transaction depend on this attempt at the occurrence, as `DynamoDBLeaseStore.fence` does for a
   * leadership. DynamoDB cancels the transaction once the occurrence is completed, released, or claimed by a later attempt.
   *
   * @throws {UnsupportedError} on a table with multi-region strong consistency, where DynamoDB has no transactions.
   */
  fence(leadership: Fenced): DynamoDBFence {
    return fenceOn(this.#table, occurrenceKey(this.#election, leadership.election), leadership);
  }
}
