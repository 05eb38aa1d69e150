import { isLeaseholdError, type Clock } from "@leasehold/core";
import type { RecordRequestOptions } from "@leasehold/core/provider";
import { toStoreError, type Meaning, type RequestLabel } from "./sql-errors.ts";

/** A source of connections, which takes them back. */
export interface Connections<Connection> {
  get(): Promise<Connection>;
  /** Gives back a connection that has just answered. */
  release(connection: Connection): void;
  /** Closes a connection. */
  discard(connection: Connection): void;
  /** Returns the present instant, for {@link doubt}. */
  instant(): number;
  /** Has `get` return no connection whose last answer came before that instant. */
  doubt(instant: number): void;
  /** Makes the server stop what it still does on a connection, by a statement on another one. */
  cancel(connection: Connection, by: Connection): Promise<void>;
  /** Tells in a sentence which sessions hold the locks that a connection waits for; `undefined` if it waits for none. */
  blockersOf(connection: Connection, by: Connection): Promise<string | undefined>;
}

/** The longest time for a cancellation: it is of no use later, and must not keep connections from those who come next. */
const CANCEL_TIMEOUT_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 5_000;
/** The part of a write's time in which the server may wait for locks: what is left is for its answer. */
const LOCK_WAIT_PART = 0.8;

/** Returns how long the server may wait for the locks of a write that has so much time. */
export function lockTimeoutMs({ timeoutMs = DEFAULT_TIMEOUT_MS }: Pick<RecordRequestOptions, "timeoutMs">): number {
  return Math.max(1, Math.round(timeoutMs * LOCK_WAIT_PART));
}

/**
 * All calls of one driver. Here alone is decided how long a call takes, what is cancelled, and which connection is kept:
 *
 * - The signal ends a call even if the server says nothing.
 * - A connection goes back to its pool only after success.
 * - After a call without an answer no later call uses a connection that may be as dead: each has one that is new, or that
 *   has answered since.
 * - A read that is given up is cancelled at the server. A write never is: it may be waiting for its replica, and PostgreSQL
 *   and MySQL show a commit whose wait was cancelled. Its waits for locks are bounded by its own statement instead.
 */
export class Requests<Connection> {
  readonly #connections: Connections<Connection>;
  readonly #meaningOf: (error: unknown) => Meaning | undefined;
  readonly #clock: Clock;

  constructor(connections: Connections<Connection>, meaningOf: (error: unknown) => Meaning | undefined, clock: Clock) {
    this.#connections = connections;
    this.#meaningOf = meaningOf;
    this.#clock = clock;
  }

  /** @throws {StoreError} whatever goes wrong. */
  async run<T>(label: RequestLabel, limits: RecordRequestOptions, act: (connection: Connection) => Promise<T>): Promise<T> {
    const { signal } = limits;
    let sent: { readonly on: Connection; readonly at: number } | undefined;
    let blockers: string | undefined;
    const over = new AbortController();
    const askForBlockers = async (): Promise<void> => {
      if (sent) blockers = await this.#blockersOf(sent.on, over.signal);
    };
    const slow = label.writes ? this.#clock.setTimer(() => void askForBlockers(), lockTimeoutMs(limits) / 2) : undefined;
    try {
      return await this.use(signal, async (connection) => {
        sent = { on: connection, at: this.#connections.instant() };
        return await act(connection);
      });
    } catch (error) {
      // Without a connection nothing was sent.
      const failure = toStoreError(error, { ...label, writes: label.writes && sent !== undefined, blockers }, this.#meaningOf);
      if (sent && isSilence(signal.aborted ? (signal.reason as unknown) : failure)) this.#connections.doubt(sent.at);
      if (sent && signal.aborted && !label.writes) void this.#cancel(sent.on);
      throw failure;
    } finally {
      slow?.cancel();
      over.abort();
    }
  }

  /** Acts on a connection of its own until the signal aborts. Throws what `act` or the driver throws. */
  async use<T>(signal: AbortSignal, act: (connection: Connection) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const abort = Promise.withResolvers<never>();
    const onAbort = (): void => abort.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    abort.promise.catch(() => undefined);
    try {
      const connecting = this.#connections.get();
      const connection = await Promise.race([connecting, abort.promise]).catch((error: unknown) => {
        // One that comes too late goes back.
        if (signal.aborted) connecting.then((late) => this.#connections.release(late)).catch(() => undefined);
        throw error;
      });
      try {
        const result = await Promise.race([act(connection), abort.promise]);
        this.#connections.release(connection);
        return result;
      } catch (error) {
        this.#connections.discard(connection);
        throw error;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Never rejects: whoever cancels has given up already. */
  async #cancel(connection: Connection): Promise<void> {
    const limit = new AbortController();
    const timer = this.#clock.setTimer(() => limit.abort(), CANCEL_TIMEOUT_MS);
    // There may be no connection to be had: then the server ends the statement, or not.
    await this.use(limit.signal, (other) => this.#connections.cancel(connection, other)).catch(() => undefined);
    timer.cancel();
  }

  /** Never rejects: an account may not be allowed to ask. */
  async #blockersOf(connection: Connection, over: AbortSignal): Promise<string | undefined> {
    return await this.use(over, (other) => this.#connections.blockersOf(connection, other)).catch(() => undefined);
  }
}

/** Reports whether the server gave no answer, or none of a server that takes writes. */
function isSilence(error: unknown): boolean {
  return isLeaseholdError(error, "STORE_TIMEOUT") || isLeaseholdError(error, "STORE_UNAVAILABLE");
}
