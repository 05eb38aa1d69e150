// Writes the fences of shards before their tasks begin.

import { sleep } from "@leasehold/core/provider";
import type { FleetContext } from "./fleet-reporter.ts";
import { FenceAheadError } from "./fleet-records.ts";
import type { Shard } from "./hold.ts";
import { inTurns } from "./in-turns.ts";

/** The first pause after a failed write. Each further failure doubles the pause. */
const FIRST_PAUSE_MS = 100;

/**
 * Returns a function that writes the fence of a shard, and tries again after a failure. The function returns false if the shard
 * has to stop meanwhile. It throws if the fence has a later term than the plan. It also throws after `drainTimeoutMs`, because a
 * transaction of the former holder may lock the fence.
 */
export function sealing({ clock, timing, records }: FleetContext): (shard: Shard) => Promise<boolean> {
  const inTurn = inTurns();
  const attempt = async (shard: Shard): Promise<boolean> =>
    !shard.signal.aborted && shard.isValid() && (await records.seal(shard));
  return async (shard) => {
    const sinceMs = clock.monotonicMs();
    for (let pauseMs = FIRST_PAUSE_MS; !shard.signal.aborted; pauseMs = Math.min(2 * pauseMs, timing.retryPeriodMs)) {
      let failure: unknown = new Error(`Another process writes the fence of the shard '${shard.name}' all the time.`);
      try {
        if (await inTurn(() => attempt(shard))) return !shard.signal.aborted;
      } catch (error) {
        failure = error;
      }
      if (failure instanceof FenceAheadError || clock.monotonicMs() - sinceMs >= timing.drainTimeoutMs) throw failure;
      await sleep(clock, pauseMs, shard.signal).catch(() => undefined);
    }
    return false;
  };
}
