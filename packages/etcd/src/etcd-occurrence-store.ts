import { type Clock, RecordOccurrenceStore, type Fenced } from "@leasehold/core/provider";
import { EtcdRecordStore } from "./etcd-record-store.ts";
import type { OccurrenceKeys } from "./keys.ts";
import type { EtcdRequests } from "./requests.ts";
import type { Retention } from "./retention.ts";
import { holds, type EtcdCompare } from "./wire.ts";

/** Keeps the occurrences of one schedule on etcd, one record each. `EtcdLeaseStore.occurrences` returns it. */
export class EtcdOccurrenceStore extends RecordOccurrenceStore {
  readonly #keys: OccurrenceKeys;

  constructor(requests: EtcdRequests, clock: Clock, keys: OccurrenceKeys, retention: Retention) {
    super(new EtcdRecordStore(requests, clock, keys, retention), { clock });
    this.#keys = keys;
  }

  /** Like `EtcdLeaseStore.fence`, for this attempt at an occurrence. */
  fence({ election, term, termId }: Fenced): readonly EtcdCompare[] {
    return [holds(this.#keys.fence(election), this.#keys.fenceValue(term, termId))];
  }
}
