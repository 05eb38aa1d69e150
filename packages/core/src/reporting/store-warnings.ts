import { Journal, type WarningCode } from "./journal.ts";

/** The warnings of one store, for the loggers of its electors and observers. Without any they are process warnings. */
export class StoreWarnings {
  readonly #journals = new Set<Journal>();

  /** Adds the journal of an elector or observer that begins to use the store. */
  join(journal: Journal): void {
    this.#journals.add(journal);
  }

  warn(code: WarningCode, message: string): void {
    for (const journal of this.#readers) journal.warn(code, "warn", message, {});
  }

  /** Writes a warning once for each cause: to each logger once in this process. */
  warnOnce(code: WarningCode, cause: string, message: string): void {
    for (const journal of this.#readers) journal.warnOnce(code, cause, message);
  }

  get #readers(): Iterable<Journal> {
    return this.#journals.size > 0 ? this.#journals : [Journal.to(undefined)];
  }
}
