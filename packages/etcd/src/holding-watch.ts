import { onAbort } from "@leasehold/core/provider";
import type { HeldKey } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import { PlaceWatch } from "./place-watch.ts";

/** Yields each time that a holder's key was deleted after the revision at which it was last seen. Ends when the signal aborts. */
export async function* watchHolding(
  { clock, requests }: StoreParts,
  holding: HeldKey,
  signal: AbortSignal,
): AsyncGenerator<void, void, undefined> {
  const { keys, lease } = holding;
  const watch = new PlaceWatch(clock, requests, lease.election);
  const stopListening = onAbort(signal, () => watch.wake());
  try {
    while (!signal.aborted) {
      // Continues a watch that is running; begins a new one if it has broken.
      watch.follow([keys.candidate(lease.termId)], holding.revision);
      if ((await watch.ended(lease.leaseDurationMs)) && !signal.aborted) yield;
    }
  } finally {
    stopListening();
    watch.stop();
  }
}
