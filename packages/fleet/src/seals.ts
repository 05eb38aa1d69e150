// Writes the fences of shards before their tasks begin.

import { sleep } from "@leasehold/core/provider";
import type { FleetContext } from "./fleet-reporter.ts";
import { FenceAheadError } from "./fleet-records.ts";
import type { Shard } from "./hold.ts";
import { inTurns } from "./in-turns.ts";

/** The first pause after a failed write. Each further failure doubles the pause. */
const FIRST_PAUSE_MS = 100;

/**
 * Returns a function that writes the fence of a shard, and tries again after a failure. It gives up once the shard has to stop. It
 * throws if the fence has a later term than the plan. It also throws after `drainTimeoutMs`, because a transaction of the former
 * holder may lock the fence.
 */
export function sealing({ clock, timing, records }: FleetContext): (shard: Shard) => Promise<void> {
  const inTurn = inTurns();
  return async (shard) => {
    const untilMs = clock.monotonicMs() + timing.drainTimeoutMs;
    const mayBegin = (): boolean => !shard.signal.aborted && shard.isValid();
    for (let pauseMs = FIRST_PAUSE_MS; mayBegin(); pauseMs = Math.min(2 * pauseMs, timing.retryPeriodMs)) {
      try {
        return await inTurn(async () => (mayBegin() ? await records.seal(shard) : undefined));
      } catch (error) {
        if (error instanceof FenceAheadError || clock.monotonicMs() >= untilMs) throw error;
        await sleep(clock, pauseMs, shard.signal).catch(() => undefined);
      }
    }
  };
}
