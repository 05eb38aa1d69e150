import { type Clock, onAbort, redact, sleep } from "@leasehold/core/provider";
import type { VotingTls } from "./options.ts";
import type { WarningLog } from "./warning-log.ts";

/** The certificates are read again at this interval. */
const READ_AGAIN_MS = 60_000;

/**
 * Reads the certificates again once a minute, until `closed` aborts. If that fails, the last ones stay in use, and a warning says
 * why.
 *
 * @param use receives certificates that can be used, changed or not.
 */
export async function readTlsAgain(
  clock: Clock,
  read: () => Promise<VotingTls>,
  use: (tls: VotingTls) => void,
  troubles: Pick<WarningLog, "tell">,
  closed: AbortSignal,
): Promise<void> {
  while (!closed.aborted) {
    try {
      await sleep(clock, READ_AGAIN_MS, closed);
      use(await read());
    } catch (error) {
      if (closed.aborted) return;
      troubles.tell(`its certificates cannot be read again, so the last ones stay in use: ${reasonOf(error)}`);
    }
  }
}

/** The authority of the servers' certificates, as PEM. Undefined for those that Node trusts. */
export type Authority = string | Buffer | undefined;

/**
 * Returns a function for a process that only sends requests, to call before each. It reads the authority if a minute has passed,
 * so it needs no timer. Until there is an authority, the call waits for the read, and rejects if that fails or the signal aborts.
 * Later it does not wait: the last authority stays in use until a read has answered, and if one fails, `tell` receives a warning.
 */
export function authorityReader(
  clock: Clock,
  read: () => Authority | Promise<Authority>,
  use: (authority: Authority) => void,
  tell: (message: string) => void,
): (signal: AbortSignal) => Promise<void> {
  let readAtMs: number | undefined;
  let reading: Promise<void> | undefined;
  const next = async (): Promise<void> => {
    try {
      use(await read());
    } catch (error) {
      if (readAtMs === undefined) throw error;
      tell(`The authority of the servers cannot be read again, so the last one stays in use: ${reasonOf(error)}`);
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
async function unlessAborted(reading: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const stopListening = onAbort(signal, () => aborted.reject(new Error("the authority of the servers was not read in time.")));
  try {
    await Promise.race([reading, aborted.promise]);
  } finally {
    stopListening();
  }
}

function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error));
}
