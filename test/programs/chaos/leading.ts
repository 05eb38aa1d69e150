import type { Line } from "@leasehold/test-kit/candidates/history";

/**
 * When a worker was sure to lead and to go on with it: it has just begun, or renewed, and its task has not been told to
 * stop. (A term that is ending renews as well.) It takes lines as they come.
 */
export class Leading {
  #leads = false;

  /** This line shows that its worker leads. */
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

  /** It did at the last line. */
  get leads(): boolean {
    return this.#leads;
  }
}
