import type { Clock } from "@leasehold/core";
import { toStoreError, type Meaning, type RequestLabel } from "./sql-errors.ts";

/** A source of connections, which takes them back. */
export interface Connections<Connection> {
  get(): Promise<Connection>;
  /** Gives back a connection that is as it was. */
  release(connection: Connection): void;
  /** Closes a connection that is in doubt. */
  discard(connection: Connection): void;
  /** Makes the server stop what it still does on a connection, by a statement on another one. */
  cancel(connection: Connection, by: Connection): Promise<void>;
}

/** The longest time for a cancellation: it is of no use later, and must not keep connections from those who come next. */
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * One call on a connection of its own, ended by the signal even if the server says nothing: the connection is then
 * closed and the statement cancelled, so that nothing is carried out late.
 * @throws {StoreError} whatever goes wrong.
 */
export async function onOneConnection<Connection, T>(
  connections: Connections<Connection>,
  label: RequestLabel,
  signal: AbortSignal,
  meaningOf: (error: unknown) => Meaning | undefined,
  clock: Clock,
  act: (connection: Connection) => Promise<T>,
): Promise<T> {
  const abort = Promise.withResolvers<never>();
  const onAbort = (): void => abort.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  abort.promise.catch(() => undefined);
  try {
    signal.throwIfAborted();
    const connecting = connections.get();
    const connection = await Promise.race([connecting, abort.promise]).catch((error: unknown) => {
      // One that comes too late goes back; and nothing has been sent.
      if (signal.aborted) connecting.then((late) => connections.release(late)).catch(() => undefined);
      throw toStoreError(error, { ...label, writes: false }, meaningOf);
    });
    try {
      const result = await Promise.race([act(connection), abort.promise]);
      connections.release(connection);
      return result;
    } catch (error) {
      if (signal.aborted) void cancelStatement(connections, connection, clock);
      // Only after an answer of the server's own is a connection as it was.
      if (signal.aborted || meaningOf(error) === undefined) connections.discard(connection);
      else connections.release(connection);
      throw error;
    }
  } catch (error) {
    throw toStoreError(error, label, meaningOf);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Never rejects: whoever cancels has given up already. */
async function cancelStatement<Connection>(
  connections: Connections<Connection>,
  connection: Connection,
  clock: Clock,
): Promise<void> {
  const timeUp = Promise.withResolvers<"time is up">();
  const timer = clock.setTimer(() => timeUp.resolve("time is up"), CANCEL_TIMEOUT_MS);
  const connecting = connections.get();
  try {
    const other = await Promise.race([connecting, timeUp.promise]);
    if (other === "time is up") {
      connecting.then((late) => connections.release(late)).catch(() => undefined);
      return;
    }
    const cancelled = await Promise.race([connections.cancel(connection, other).catch(() => undefined), timeUp.promise]);
    if (cancelled === "time is up") connections.discard(other);
    else connections.release(other);
  } catch {
    // There is no connection to be had: then the server ends the statement, or not.
  } finally {
    timer.cancel();
  }
}
