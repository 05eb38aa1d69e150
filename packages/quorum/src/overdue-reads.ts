import { isLeaseholdError } from "@leasehold/core";
import { type Clock, onAbort, type Timer } from "@leasehold/core/provider";

/**
 * The longest duration of a read, in milliseconds. A first request opens a connection, which takes several round trips. An abort
 * in the handshake would end that connection, and each later attempt would be aborted in the same way.
 */
export const CONNECT_TIMEOUT_MS = 3_000;
/** At most this many reads of one member may continue past their time limit. A round reads two records of a member at once. */
const MOST_OVERDUE = 2;

/**
 * Sends the reads of one member. Some continue after their call has given up, so that the next call can use their connections.
 */
export class OverdueReads {
  readonly #clock: Clock;
  #overdue = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Sends a read. If `abandoned` aborts because its time is up, the read continues until {@link CONNECT_TIMEOUT_MS} after the
   * send. The read ends at once if its caller aborts it, or if enough reads are overdue already.
   */
  async send<T>(abandoned: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const untilMs = this.#clock.monotonicMs() + CONNECT_TIMEOUT_MS;
    let timer: Timer | undefined;
    const stopListening = onAbort(abandoned, () => {
      const end = (): void => ended.abort(abandoned.reason);
      const mayGoOn = this.#overdue < MOST_OVERDUE && isLeaseholdError(abandoned.reason, "STORE_TIMEOUT");
      if (!mayGoOn) return end();
      this.#overdue += 1;
      timer = this.#clock.setTimer(end, untilMs - this.#clock.monotonicMs());
    });
    const settled = Promise.withResolvers<never>();
    settled.promise.catch(() => undefined);
    onAbort(ended.signal, settled.reject);
    try {
      // Some stores ignore their signal.
      return await Promise.race([read(ended.signal), settled.promise]);
    } finally {
      stopListening();
      timer?.cancel();
      if (timer) this.#overdue -= 1;
    }
  }
}
