import { Journal, type WarningCode } from "./journal.ts";

/** The causes that each logger was warned of. */
const warnedBy = new WeakMap<Journal, Set<string>>();

/**
 * The warnings of one store. They leave by the loggers of the electors and observers on it, and are process warnings where there is none yet.
 * Electors and observers that all have `logger: false` silence them.
 */
export class StoreWarnings {
  readonly #journals = new Set<Journal>();

  /** An elector or an observer begins to use the store. */
  join(journal: Journal): void {
    this.#journals.add(journal);
  }

  /** Warns a person. */
  warn(code: WarningCode, message: string): void {
    for (const journal of this.#readers) journal.warn(code, "warn", message, {});
  }

  /** Warns a person once for each cause: each logger once in this process. */
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
