import type { CaseResult } from "./case-result.ts";
import { everyCase } from "./cases.ts";

/** The layout of a table. */
export interface TableOptions {
  /** The longest line, in characters. Columns that do not fit go into a further table below. @defaultValue 160 */
  readonly width?: number | undefined;
}

const GAP = "  ";

/**
 * Returns a table of the results of all stores: a row for each case, a column for each subject. A cell is `pass`, `FAIL`, or the
 * number of the note below that says why there is no result. No cell is empty: a case without a result did not run. If a
 * subject's name ends in parentheses, these are a second line of its heading.
 */
export function renderTable(results: readonly CaseResult[], { width = 160 }: TableOptions = {}): string {
  const subjects = [...new Set(results.map(({ subject }) => subject))].toSorted();
  const notes: string[] = [];
  const noteOf = (text: string): string => {
    if (!notes.includes(text)) notes.push(text);
    return `[${notes.indexOf(text) + 1}]`;
  };
  const cell = (id: string, subject: string): string => {
    const result = results.findLast((one) => one.id === id && one.subject === subject);
    if (!result) return noteOf("did not run this time");
    if (result.outcome === "passed") return "pass";
    return result.outcome === "failed" ? "FAIL" : noteOf(result.reason ?? "no reason was given");
  };
  const headings = subjects.map((subject) => /^(.+?) +(\(.+\))$/.exec(subject)?.slice(1) ?? [subject]);
  const levels = Math.max(1, ...headings.map(({ length }) => length));
  const heading = Array.from({ length: levels }, (_, level) => [
    level === 0 ? "case" : "",
    ...headings.map((lines) => lines[level] ?? ""),
  ]);
  const rows = [...heading, ...everyCase.map(({ id }) => [id, ...subjects.map((subject) => cell(id, subject))])];
  const widths = ["case", ...subjects].map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const tables = pages(widths, width).map((columns) =>
    rows
      .map((row) =>
        columns
          .map((column) => (row[column] ?? "").padEnd(widths[column] ?? 0))
          .join(GAP)
          .trimEnd(),
      )
      .join("\n"),
  );
  return [...tables, notes.map((text, index) => `[${index + 1}] ${text}`).join("\n")].join("\n\n").trimEnd();
}

/** Returns the columns of each table: the first one again, and as many of the others as fit, at least one. */
function pages(widths: readonly number[], width: number): readonly number[][] {
  const first = widths[0] ?? 0;
  let page: number[] = [0];
  const made = [page];
  let usedWidth = first;
  for (const [index, columnWidth] of widths.slice(1).entries()) {
    if (page.length > 1 && usedWidth + GAP.length + columnWidth > width) {
      page = [0];
      made.push(page);
      usedWidth = first;
    }
    page.push(index + 1);
    usedWidth += GAP.length + columnWidth;
  }
  return made;
}
