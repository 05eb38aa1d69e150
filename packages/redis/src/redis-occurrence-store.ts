import { RecordOccurrenceStore, type Clock, type Fenced } from "@leasehold/core/provider";
import { fenceScript, type RedisFenceScript } from "./fence.ts";
import type { RecordKeys } from "./keys.ts";
import type { RedisRecordStore } from "./redis-record-store.ts";

/**
 * The occurrences of one election's schedule, as returned by `RedisLeaseStore.occurrences`. Each is a hash of its own, which Redis
 * deletes once its retention has passed.
 */
export class RedisOccurrenceStore extends RecordOccurrenceStore {
  readonly #keysOf: (occurrence: string) => RecordKeys;

  constructor(records: RedisRecordStore, keysOf: (occurrence: string) => RecordKeys, clock: Clock) {
    super(records, { clock });
    this.#keysOf = keysOf;
  }

  /**
   * Returns what makes a script of yours pass only during this attempt at the occurrence, as `RedisLeaseStore.fenceScript` does
   * for a leadership.
   */
  fenceScript(leadership: Fenced): RedisFenceScript {
    return fenceScript(leadership, this.#keysOf(leadership.election).fence);
  }
}
