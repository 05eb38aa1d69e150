import type { ProcessClock } from "./process-clock.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** One arrival of a request at a service. */
export interface Arrival {
  /** The time from the send to the arrival, in true milliseconds. */
  readonly afterMs: number;
  /** The time from the arrival to the reply, in true milliseconds; absent if the reply is lost. */
  readonly replyAfterMs?: number | undefined;
}

export interface Passage {
  /** Empty: the request is lost. Several: it is delivered several times. The first reply that comes back is the answer. */
  readonly arrivals: readonly Arrival[];
  /** The connection breaks with this error, `afterMs` after the send. The request may arrive all the same. */
  readonly breaks?: { readonly afterMs: number; readonly error: Error } | undefined;
  /** True if a read that need not be consistent shows the state before the last write. */
  readonly lags?: boolean | undefined;
}

/** The facts about a request on which its passage may depend. */
export interface PassengerRequest {
  /** For instance `get`, `put`, `watch`. */
  readonly operation: string;
  /** For a watch: true if this wake-up says that the watch works, and not that anything changed. */
  readonly begins?: boolean | undefined;
}

export type Network = (request: PassengerRequest) => Passage;

/** Returns a network on which every request and every reply takes `latencyMs`. */
export function promptNetwork(latencyMs = 1): Network {
  const passage: Passage = { arrivals: [{ afterMs: latencyMs, replyAfterMs: latencyMs }] };
  return () => passage;
}

/** Carries a request to a service, and the answer back. While the process is paused, the service acts and the answer waits. */
export function carry<T>(world: VirtualClock, process: ProcessClock, passage: Passage, serve: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const answer = (): (() => void) => {
      try {
        const value = serve();
        return () => resolve(value);
      } catch (error) {
        return () => reject(error as Error);
      }
    };
    for (const { afterMs, replyAfterMs } of passage.arrivals) {
      world.setIdleTimer(() => {
        const reply = answer();
        if (replyAfterMs !== undefined) world.setTimer(() => process.deliver(reply), replyAfterMs);
      }, afterMs);
    }
    const { breaks } = passage;
    if (breaks) world.setTimer(() => process.deliver(() => reject(breaks.error)), breaks.afterMs);
  });
}
