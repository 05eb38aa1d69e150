// The fences of shards that start: at most some of their writes are under way, so that heartbeats go before them.

import { sleep } from "@leasehold/core/provider";
import type { FleetSettings } from "./fleet-options.ts";
import { FenceAheadError, type FleetRecords } from "./fleet-records.ts";
import type { Shard } from "./hold.ts";

/** The fences that are written at once. More of them could starve the session's renewals. */
const AT_ONCE = 16;
/** The first pause after a failed write. It doubles with each further one. */
const FIRST_PAUSE_MS = 100;

export class Seals {
  readonly #settings: FleetSettings;
  readonly #records: FleetRecords;
  readonly #waiting: Array<() => void> = [];
  #underWay = 0;

  constructor(settings: FleetSettings, records: FleetRecords) {
    this.#settings = settings;
    this.#records = records;
  }

  /**
   * Writes the fence of a shard, and tries again after a failure. Returns false if the shard has to stop meanwhile. A transaction of
   * the old holder may lock the fence, so after `drainTimeoutMs` it is a failure of the shard.
   * @throws if the fence is ahead of the plan, or could not be written in time.
   */
  async seal(shard: Shard): Promise<boolean> {
    const { clock, timing } = this.#settings;
    const sinceMs = clock.monotonicMs();
    for (let pauseMs = FIRST_PAUSE_MS; !shard.signal.aborted; pauseMs = Math.min(2 * pauseMs, timing.retryPeriodMs)) {
      let failure = new Error(`Another process writes the fence of the shard '${shard.name}' all the time.`);
      try {
        if (await this.#inTurn(shard)) return !shard.signal.aborted;
      } catch (error) {
        if (error instanceof FenceAheadError) throw error;
        failure = error as Error;
      }
      if (clock.monotonicMs() - sinceMs >= timing.drainTimeoutMs) throw failure;
      await sleep(clock, pauseMs, shard.signal).catch(() => undefined);
    }
    return false;
  }

  async #inTurn(shard: Shard): Promise<boolean> {
    if (this.#underWay >= AT_ONCE) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    else this.#underWay += 1;
    try {
      if (shard.signal.aborted || !shard.isValid()) return false;
      return await this.#records.seal(shard);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#underWay -= 1;
    }
  }
}
