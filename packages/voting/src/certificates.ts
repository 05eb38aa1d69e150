import { type Clock, onAbort, redact } from "@leasehold/core/provider";

/** Certificates are read again at this interval. */
const READ_AGAIN_MS = 60_000;

/** The authority of the servers' certificates, as PEM. Undefined for those that Node trusts. */
export type Authority = string | Buffer | undefined;

export interface Reading<T> {
  readonly clock: Clock;
  readonly read: () => T | Promise<T>;
  /** Receives what was read, changed or not. */
  readonly use: (read: T) => void;
  /** Receives the reason why nothing could be read. The last value stays in use. */
  readonly failed: (reason: string) => void;
  /** The first value is in use already. */
  readonly hasFirst: boolean;
}

/**
 * Returns a function to call before each request. It reads again if a minute has passed, so it needs no timer. Until there is a
 * first value, the call waits for the read, and rejects if that fails or the signal aborts. Later it does not wait.
 */
export function readAgain<T>({ clock, read, use, failed, hasFirst }: Reading<T>): (signal?: AbortSignal) => Promise<void> {
  let readAtMs = hasFirst ? clock.monotonicMs() : undefined;
  let reading: Promise<void> | undefined;
  const next = async (): Promise<void> => {
    try {
      use(await read());
    } catch (error) {
      if (readAtMs === undefined) throw error;
      failed(redact(error instanceof Error ? error.message : String(error)));
    }
    readAtMs = clock.monotonicMs();
  };
  return async (signal) => {
    if (readAtMs !== undefined && clock.monotonicMs() < readAtMs + READ_AGAIN_MS) return;
    reading ??= next().finally(() => (reading = undefined));
    if (readAtMs === undefined) await unlessAborted(reading, signal);
  };
}

/** Settles as the read does. Rejects if the signal aborts before. */
async function unlessAborted(reading: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const stopListening = onAbort(signal, () => aborted.reject(new Error("the authority of the servers was not read in time.")));
  try {
    await Promise.race([reading, aborted.promise]);
  } finally {
    stopListening();
  }
}
