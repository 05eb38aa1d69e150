import { isLeaseholdError, type Clock, type Timer } from "@leasehold/core";

/**
 * The longest that a read goes on, in milliseconds. A first request makes a connection, which takes several round trips: an abort
 * in the handshake would end that connection, and so would the next abort, for ever.
 */
export const CONNECT_TIMEOUT_MS = 3_000;
/** The most reads of one member that go on past their time. A round reads two records of a member at once. */
const MOST_OVERDUE = 2;

/** The reads of one member. Some go on after their call has given them up, so that their connections serve the next call. */
export class OverdueReads {
  readonly #clock: Clock;
  #overdue = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Sends a read. Once `abandoned` has aborted for want of time, the read goes on until {@link CONNECT_TIMEOUT_MS} after the send;
   * it ends at once where its caller has aborted it, or where enough reads are overdue.
   */
  async send<T>(abandoned: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const untilMs = this.#clock.monotonicMs() + CONNECT_TIMEOUT_MS;
    let timer: Timer | undefined;
    const onAbandoned = (): void => {
      const end = (): void => ended.abort(abandoned.reason);
      const mayGoOn = this.#overdue < MOST_OVERDUE && isLeaseholdError(abandoned.reason, "STORE_TIMEOUT");
      if (!mayGoOn) return end();
      this.#overdue += 1;
      timer = this.#clock.setTimer(end, untilMs - this.#clock.monotonicMs());
    };
    const settled = Promise.withResolvers<never>();
    settled.promise.catch(() => undefined);
    ended.signal.addEventListener("abort", () => settled.reject(ended.signal.reason), { once: true });
    abandoned.addEventListener("abort", onAbandoned, { once: true });
    try {
      // Not every store heeds its signal.
      return await Promise.race([read(ended.signal), settled.promise]);
    } finally {
      abandoned.removeEventListener("abort", onAbandoned);
      timer?.cancel();
      if (timer) this.#overdue -= 1;
    }
  }
}
