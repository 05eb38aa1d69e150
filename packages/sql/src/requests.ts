import { isLeaseholdError } from "@leasehold/core";
import { type Clock, onAbort, type RecordRequestOptions } from "@leasehold/core/provider";
import { toStoreError, type Meaning, type RequestLabel } from "./sql-errors.ts";

/** Lends connections and takes them back. */
export interface Connections<Connection> {
  get(): Promise<Connection>;
  release(connection: Connection): void;
  discard(connection: Connection): void;
  instant(): number;
  /** Makes `get` discard each connection whose last answer came before that instant. */
  doubt(instant: number): void;
  /** Makes the server stop the statement that still runs on `connection`. The request for it is sent on the connection `by`. */
  cancel(connection: Connection, by: Connection): Promise<void>;
  /**
   * Returns a sentence about the session that holds the lock for which `connection` waits; `undefined` if it waits for none. The
   * question is sent on the connection `by`.
   */
  blockersOf(connection: Connection, by: Connection): Promise<string | undefined>;
}

/** The longest time for a cancellation. A later one is of no use, and it would keep a connection from other calls. */
const CANCEL_TIMEOUT_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 5_000;
const NO_CONNECTION = " It got no connection: those of the pool were in use, or the server let none in.";
/** The part of a write's time for which the server may wait for locks. The rest is for its answer. */
const LOCK_WAIT_PART = 0.8;

export function lockTimeoutMs({ timeoutMs = DEFAULT_TIMEOUT_MS }: Pick<RecordRequestOptions, "timeoutMs">): number {
  return Math.max(1, Math.round(timeoutMs * LOCK_WAIT_PART));
}

/**
 * Sends all calls of one driver. This class alone decides how long a call takes, which calls are cancelled, and which connections
 * are kept:
 *
 * - The signal ends a call even if the server does not answer.
 * - A connection goes back to its pool only after success.
 * - After a call without an answer, later calls use only connections that are new or have answered since that call was sent.
 *   Other connections may be dead as well.
 * - A read that is given up is cancelled at the server. A write is never cancelled, because it may be waiting for its replica:
 *   PostgreSQL and MySQL show a commit whose wait was cancelled. The write's own statement limits how long it waits for locks.
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

  async run<T>(label: RequestLabel, limits: RecordRequestOptions, act: (connection: Connection) => Promise<T>): Promise<T> {
    const { signal } = limits;
    let sent: { readonly on: Connection; readonly at: number } | undefined;
    let blockers: string | undefined;
    const over = new AbortController();
    const askForBlockers = async (): Promise<void> => {
      if (sent) blockers = await this.#blockersOf(sent.on, over.signal);
    };
    // The abort's reason is the time-out error that the caller gets.
    const stopListening = onAbort(signal, (reason) => {
      if (!sent && isLeaseholdError(reason, "STORE_TIMEOUT")) reason.message += NO_CONNECTION;
    });
    const slow = label.writes ? this.#clock.setTimer(() => void askForBlockers(), lockTimeoutMs(limits) / 2) : undefined;
    try {
      return await this.use(signal, async (connection) => {
        sent = { on: connection, at: this.#connections.instant() };
        return await act(connection);
      });
    } catch (error) {
      // Without a connection nothing was sent, so that a write cannot have been applied.
      const failure = toStoreError(error, { ...label, writes: label.writes && sent !== undefined, blockers }, this.#meaningOf);
      if (sent && isSilence(signal.aborted ? (signal.reason as unknown) : failure)) this.#connections.doubt(sent.at);
      if (sent && signal.aborted && !label.writes) void this.#cancel(sent.on);
      throw failure;
    } finally {
      stopListening();
      slow?.cancel();
      over.abort();
    }
  }

  /**
   * Calls `act` with a connection that no other call uses meanwhile. Rejects once the signal aborts, or with what `act` or the
   * driver throws.
   */
  async use<T>(signal: AbortSignal, act: (connection: Connection) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const abort = Promise.withResolvers<never>();
    const stopListening = onAbort(signal, abort.reject);
    abort.promise.catch(() => undefined);
    try {
      const connecting = this.#connections.get();
      const connection = await Promise.race([connecting, abort.promise]).catch((error: unknown) => {
        // A connection that comes after the abort goes back to the pool.
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
      stopListening();
    }
  }

  /**
   * Runs `act` between the statements of a transaction, on a connection that no other call uses meanwhile. If `act` throws, the
   * transaction is rolled back, and the connection is kept if that succeeded.
   * @throws what `act` or the driver throws.
   */
  async inTransaction<T>(
    send: (connection: Connection, sql: string) => Promise<unknown>,
    act: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const outcome = await this.use(new AbortController().signal, async (connection) => {
      await send(connection, "BEGIN");
      try {
        const result = await act(connection);
        await send(connection, "COMMIT");
        return (): T => result;
      } catch (error) {
        await send(connection, "ROLLBACK").catch(() => {
          throw error;
        });
        return (): never => {
          throw error;
        };
      }
    });
    return outcome();
  }

  /** Cancels a statement at the server. Never rejects, because its caller has given the call up already. */
  async #cancel(connection: Connection): Promise<void> {
    const limit = new AbortController();
    const timer = this.#clock.setTimer(() => limit.abort(), CANCEL_TIMEOUT_MS);
    // If no connection is free, the statement goes on until the server ends it.
    await this.use(limit.signal, (other) => this.#connections.cancel(connection, other)).catch(() => undefined);
    timer.cancel();
  }

  /** Never rejects: the account may lack the right to ask. */
  async #blockersOf(connection: Connection, over: AbortSignal): Promise<string | undefined> {
    return await this.use(over, (other) => this.#connections.blockersOf(connection, other)).catch(() => undefined);
  }
}

/** Returns whether the error means no answer, or an answer of a server that takes no writes. */
function isSilence(error: unknown): boolean {
  return isLeaseholdError(error, "STORE_TIMEOUT") || isLeaseholdError(error, "STORE_UNAVAILABLE");
}
