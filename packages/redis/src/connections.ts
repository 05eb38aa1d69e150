import { isLeaseholdError } from "@leasehold/core";
import { type Clock, onAbort, type RecordRequestOptions } from "@leasehold/core/provider";
import { handled, type ConnectionEvents, type RedisConnection, type RedisDriver } from "./drivers/driver.ts";
import { keepsConnection, storeClosed, toStoreError, type RequestLabel } from "./redis-errors.ts";

/** The longest time in which a connection is made. */
const CONNECT_TIMEOUT_MS = 5_000;

/** A connection, and when it may be used. */
export interface Opened {
  readonly connection: RedisConnection;
  /** Rejects, too, if connecting takes too long. */
  readonly ready: Promise<void>;
}

/**
 * The connections of one store. This class alone decides which connection a request uses, and which one is kept:
 *
 * - A request is sent at once, or not at all. Nothing waits for a lost connection, and nothing is sent again.
 * - The signal ends a request even if the server does not answer.
 * - After a request without an answer, and after the answer of a server that takes no writes, the next one uses a new connection.
 */
export class RedisConnections {
  readonly #clock: Clock;
  readonly #driver: () => Promise<RedisDriver>;
  #loaded: Promise<RedisDriver> | undefined;
  #current: Promise<Opened> | undefined;
  readonly #open = new Set<RedisConnection>();
  #closed = false;

  /** @param driver finds the client library at the first request. */
  constructor(driver: () => Promise<RedisDriver>, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
  }

  async driver(): Promise<RedisDriver> {
    if (this.#closed) throw storeClosed();
    this.#loaded ??= handled(this.#driver());
    return await this.#loaded;
  }

  /** Sends requests on the present connection. @throws {StoreError} for every failure of the client library. */
  async use<T>(
    label: RequestLabel,
    { signal }: Pick<RecordRequestOptions, "signal">,
    act: (connection: RedisConnection) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const stopListening = onAbort(signal, aborted.reject);
    aborted.promise.catch(() => undefined);
    this.#current ??= this.#begin();
    const used = this.#current;
    let sentOn: RedisConnection | undefined;
    try {
      const { connection, ready } = await Promise.race([used, aborted.promise]);
      await Promise.race([ready, aborted.promise]);
      sentOn = connection;
      return await Promise.race([act(connection), aborted.promise]);
    } catch (error) {
      const isOver = signal.aborted ? isSilence(signal.reason) && sentOn !== undefined : !keepsConnection(error);
      if (isOver || isReplica(error)) this.#discard(used, sentOn);
      throw signal.aborted ? signal.reason : toStoreError(error, label, sentOn !== undefined);
    } finally {
      stopListening();
    }
  }

  /** Opens one more connection, which the caller closes. */
  async open(events: ConnectionEvents): Promise<Opened> {
    const driver = await this.driver();
    // The store may have been closed while the library was loaded.
    if (this.#closed) throw storeClosed();
    const connection = driver.open({ ...events, ended: (error) => events.ended(error) });
    const timeIsUp = Promise.withResolvers<never>();
    const timer = this.#clock.setTimer(
      () => timeIsUp.reject(new Error(`No connection was made within ${CONNECT_TIMEOUT_MS} ms.`)),
      CONNECT_TIMEOUT_MS,
    );
    const ready = Promise.race([connection.ready, timeIsUp.promise]).finally(() => timer.cancel());
    this.#open.add(connection);
    return { connection, ready: handled(ready) };
  }

  close(connection: RedisConnection): void {
    if (this.#open.delete(connection)) connection.close();
  }

  /** Closes every connection. From then on each request rejects. */
  closeAll(): void {
    this.#closed = true;
    this.#current = undefined;
    for (const connection of this.#open) this.close(connection);
  }

  #begin(): Promise<Opened> {
    const opening = handled(this.open({ ended: () => this.#discard(opening), message: () => undefined }));
    opening.then(({ connection, ready }) => ready.catch(() => this.#discard(opening, connection))).catch(() => undefined);
    return opening;
  }

  /** Makes the next request open a new connection. */
  #discard(opening: Promise<Opened>, connection?: RedisConnection): void {
    if (this.#current === opening) this.#current = undefined;
    if (connection) this.close(connection);
    else opening.then((opened) => this.close(opened.connection)).catch(() => undefined);
  }
}

/** Returns whether a signal was aborted because no answer came in time. */
function isSilence(reason: unknown): boolean {
  return isLeaseholdError(reason, "STORE_TIMEOUT");
}

/** Returns whether the error is of Leasehold, and says that this server takes no writes. */
function isReplica(error: unknown): boolean {
  return isLeaseholdError(error, "STORE_UNAVAILABLE");
}
