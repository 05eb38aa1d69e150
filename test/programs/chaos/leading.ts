import type { Line } from "@leasehold/test-kit/candidates/history";

/**
 * Decides from a worker's lines when the worker certainly led and continued. It has just begun or renewed, and its task has not
 * been told to stop. (A term that is ending renews too.)
 */
export class Leading {
  #leads = false;

  /** Returns whether this line shows that its worker leads. */
  shows(line: Line): boolean {
    switch (line.event) {
      case "taskStarted":
        this.#leads = line.valid;
        return this.#leads;
      case "renewed":
        return this.#leads;
      case "aborted":
      case "taskSettled":
      case "stoppedLeading":
      case "runRejected":
      case "invalid":
      case "exited":
        this.#leads = false;
        return false;
      default:
        return false;
    }
  }

  /** True if it led at the last line. */
  get leads(): boolean {
    return this.#leads;
  }
}
