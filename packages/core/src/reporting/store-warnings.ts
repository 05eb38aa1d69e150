import { Journal, type WarningCode } from "./journal.ts";

/** The causes of which each logger was warned. */
const warnedBy = new WeakMap<Journal, Set<string>>();

/**
 * The warnings of one store. They go to the loggers of the electors and observers that use it. While there are none, they are
 * process warnings. They are silenced if all its electors and observers have `logger: false`.
 */
export class StoreWarnings {
  readonly #journals = new Set<Journal>();

  /** Adds the journal of an elector or observer that begins to use the store. */
  join(journal: Journal): void {
    this.#journals.add(journal);
  }

  /** Writes a warning to each journal. */
  warn(code: WarningCode, message: string): void {
    for (const journal of this.#readers) journal.warn(code, "warn", message, {});
  }

  /** Writes a warning once for each cause: to each logger once in this process. */
  warnOnce(code: WarningCode, cause: string, message: string): void {
    const key = `${code} ${cause}`;
    for (const journal of this.#readers) {
      const warned = warnedBy.get(journal) ?? new Set<string>();
      warnedBy.set(journal, warned);
      if (warned.has(key)) continue;
      warned.add(key);
      journal.warn(code, "warn", message, {});
    }
  }

  get #readers(): Iterable<Journal> {
    return this.#journals.size > 0 ? this.#journals : [Journal.to(undefined)];
  }
}
