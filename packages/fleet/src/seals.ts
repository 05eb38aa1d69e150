// The fences of shards that start: at most some of their writes are under way, so that heartbeats go before them.

import { LeaseholdError } from "@leasehold/core";
import { sleep, type Clock } from "@leasehold/core/provider";
import type { FleetRecords } from "./fleet-records.ts";
import type { Shard } from "./hold.ts";

/** The fences that are written at once. More of them could starve the session's renewals. */
const AT_ONCE = 16;
/** The first pause after a failed write. It doubles with each further one. */
const FIRST_PAUSE_MS = 100;

export interface SealsOptions {
  readonly clock: Clock;
  readonly records: FleetRecords;
  /** The longest pause between two tries. */
  readonly retryPeriodMs: number;
  /** A fence that cannot be written for so long is a failure of the shard. A transaction of the old holder may lock it. */
  readonly timeoutMs: number;
}

export class Seals {
  readonly #options: SealsOptions;
  readonly #waiting: Array<() => void> = [];
  #underWay = 0;

  constructor(options: SealsOptions) {
    this.#options = options;
  }

  /**
   * Writes the fence of a shard, and tries again after a failure. Returns false if the shard has to stop meanwhile.
   * @throws if the fence is ahead of the plan, or could not be written in time.
   */
  async seal(shard: Shard): Promise<boolean> {
    const { clock, retryPeriodMs, timeoutMs } = this.#options;
    const sinceMs = clock.monotonicMs();
    for (let pauseMs = FIRST_PAUSE_MS; !shard.signal.aborted; pauseMs = Math.min(2 * pauseMs, retryPeriodMs)) {
      let failure = new Error(`Another process writes the fence of the shard '${shard.name}' all the time.`);
      try {
        if (await this.#inTurn(shard)) return !shard.signal.aborted;
      } catch (error) {
        if (error instanceof FenceAheadError) throw error;
        failure = error as Error;
      }
      if (clock.monotonicMs() - sinceMs >= timeoutMs) throw failure;
      await sleep(clock, pauseMs, shard.signal).catch(() => undefined);
    }
    return false;
  }

  async #inTurn(shard: Shard): Promise<boolean> {
    if (this.#underWay >= AT_ONCE) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    else this.#underWay += 1;
    try {
      if (shard.signal.aborted || !shard.isValid()) return false;
      const outcome = await this.#options.records.seal({ shard: shard.name, term: shard.term, termId: shard.termId });
      if (outcome.is === "behind") throw new FenceAheadError(shard, outcome.term);
      return outcome.is === "sealed";
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#underWay -= 1;
    }
  }
}

/** The fence of a shard has a later term than the plan: the plan was restored, or the fence belongs to another fleet. */
class FenceAheadError extends LeaseholdError {
  constructor({ election, name, term }: Shard, fenceTerm: number) {
    super(
      "TERM_REGRESSED",
      `The fence of the shard '${name}' has term ${fenceTerm}, and the plan granted the shard in term ${term}. ` +
        "The plan was restored, or another fleet uses the same records. Reset the fleet.",
      { election },
    );
  }
}
