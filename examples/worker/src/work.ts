import { setTimeout as delay } from "node:timers/promises";
import type { Leadership } from "@leasehold/core";
import type { Logger } from "pino";

/** The work that only one process may do, for as long as it leads. */
export async function work({ signal, term }: Leadership, log: Logger): Promise<void> {
  for (let batch = 1; !signal.aborted; batch += 1) {
    // A batch that has begun is finished. The lease is renewed meanwhile, even after the signal.
    await delay(100);
    log.info({ term, batch }, "billed a batch");
    // A call that can be cancelled gets the signal. It then rejects with an AbortError, which counts as a return.
    await delay(900, undefined, { signal });
  }
}
