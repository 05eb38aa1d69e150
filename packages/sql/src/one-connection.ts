import { toStoreError, type Meaning, type RequestLabel } from "./sql-errors.ts";

/** Where connections come from, and what becomes of them. */
export interface Connections<Connection> {
  get(): Promise<Connection>;
  /** Gives back one that is as it was. */
  release(connection: Connection): void;
  /** Closes one that is in doubt. */
  discard(connection: Connection): void;
  /** Makes the server stop what it still does on a connection, as far as it can be reached. */
  cancel(connection: Connection): Promise<void>;
}

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
      if (signal.aborted) connections.cancel(connection).catch(() => undefined);
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
