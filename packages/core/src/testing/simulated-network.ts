import type { ProcessClock } from "./process-clock.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** One arrival of a request at a service. */
export interface Arrival {
  /** The time since it was sent, in true milliseconds. */
  readonly afterMs: number;
  /** The time that the reply takes from there; absent where it is lost. */
  readonly replyAfterMs?: number | undefined;
}

/** The fate of one request. */
export interface Passage {
  /** None: it is lost. More than one: the network delivers it more than once. The first reply to come back is the answer. */
  readonly arrivals: readonly Arrival[];
  /** The connection breaks, so long after the request was sent, with this error; whether or not the request arrives. */
  readonly breaks?: { readonly afterMs: number; readonly error: Error } | undefined;
  /** A read that need not be consistent shows what was there before the last write. */
  readonly lags?: boolean | undefined;
}

/** A request, as far as its passage may depend on it. */
export interface PassengerRequest {
  /** For instance `get`, `put`, `watch`. */
  readonly operation: string;
  /** Of a watch: this is the word that it stands, and no change yet. */
  readonly begins?: boolean | undefined;
}

/** Decides what becomes of each request of one process. */
export type Network = (request: PassengerRequest) => Passage;

/** A network on which every request and every reply takes `latencyMs`. */
export function promptNetwork(latencyMs = 1): Network {
  const passage: Passage = { arrivals: [{ afterMs: latencyMs, replyAfterMs: latencyMs }] };
  return () => passage;
}

/**
 * Carries a request from a process to a service, and the answer back. What the service does is done whatever has become
 * of the process; an answer waits for a process that is paused, and never reaches one that was killed.
 *
 * @param serve what the service does at each arrival; what it throws is its answer, too.
 */
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
