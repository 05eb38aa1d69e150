import { type Clock, redact, sleep } from "@leasehold/core/provider";
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
 * so it needs no timer. If the first read fails, the call rejects. If a later one fails, the last authority stays in use, and
 * `tell` receives a warning.
 */
export function authorityReader(
  clock: Clock,
  read: () => Authority | Promise<Authority>,
  use: (authority: Authority) => void,
  tell: (message: string) => void,
): () => Promise<void> {
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
  return async () => {
    if (readAtMs !== undefined && clock.monotonicMs() < readAtMs + READ_AGAIN_MS) return;
    reading ??= next().finally(() => (reading = undefined));
    await reading;
  };
}

function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error));
}
