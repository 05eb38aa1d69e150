import { isLeaseholdError } from "@leasehold/core";

/**
 * A statement that fails in the database unless a leadership still lasts, for any driver or ORM. All values are texts. It has no
 * `::`, `:name`, `?` operator, backslash or `$$`, which some clients rewrite.
 */
export interface FenceSql {
  /** The statement. Its placeholders are `$1`, `$2`, … on PostgreSQL, and `?` on MySQL and SQLite. */
  readonly text: string;
  readonly values: readonly string[];
}

/** The beginning of the message by which a failing fence is known, in whatever error a client wraps it. */
export const FENCED_TEXT = "LEASEHOLD_FENCED";

/**
 * The messages of a fence that failed, as only a database writes them. Some clients put the statement into their errors, whatever the
 * cause. So none of these matches a statement of `fenceSql`.
 */
const FENCED_MESSAGES: readonly RegExp[] = [
  // PostgreSQL shows the text that is not a number.
  new RegExp(`${FENCED_TEXT} by term (?:\\d+|none) of `),
  // MySQL and MariaDB show the expression on one line. In other languages of the server, its end differs from the statement.
  new RegExp(`out of range in .*${FENCED_TEXT}|${FENCED_TEXT}'\\)+ \\+ \\d+\\)`),
  // SQLite names the column whose constraint the fence has violated on purpose.
  /NOT NULL constraint failed: \S*_guards\.term_id/,
];

/**
 * Returns whether an error, or one of its causes, comes from a fence that failed. Such a cause is a `FencedError`, or the database's own
 * error for the statement of `SqlLeaseStore.fenceSql`. It makes no difference in which error a driver or an ORM has wrapped it.
 *
 * A COMMIT after a fence whose error was swallowed has an error of its own, which does not show its cause.
 */
export function isFenced(error: unknown): boolean {
  const seen = new Set<unknown>();
  for (let one = error; one instanceof Object && !seen.has(one); one = (one as { readonly cause?: unknown }).cause) {
    seen.add(one);
    const { message } = one as { readonly message?: unknown };
    if (isLeaseholdError(one, "FENCED")) return true;
    if (typeof message === "string" && FENCED_MESSAGES.some((pattern) => pattern.test(message))) return true;
  }
  return false;
}
