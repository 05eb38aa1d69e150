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
      const reason = redact(error instanceof Error ? error.message : String(error));
      troubles.tell(`its certificates cannot be read again, so the last ones stay in use: ${reason}`);
    }
  }
}
