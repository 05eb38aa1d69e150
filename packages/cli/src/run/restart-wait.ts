/** The wait after a command that ended soon after its start. It doubles with each such end in a row. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;

/** Computes the wait before a command is run again. */
export class RestartWait {
  #soonEnded = 0;

  /** Returns the wait after a run of `ranMs`: 0 if the run lasted for a lease or longer. A shorter run counts as a soon end. */
  after(ranMs: number, leaseDurationMs: number): number {
    this.#soonEnded = ranMs < leaseDurationMs ? this.#soonEnded + 1 : 0;
    return this.#soonEnded === 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (this.#soonEnded - 1), MAX_WAIT_MS);
  }
}
