import type { CaseResult } from "./case-result.ts";
import { everyCase } from "./cases.ts";

/**
 * The table of what every store does: a row for each case, a column for each subject. A cell says `pass`, `FAIL` or the
 * number of the note below that says why there is neither. No cell is empty: a case without a result did not run.
 */
export function renderTable(results: readonly CaseResult[]): string {
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
  const rows = [["case", ...subjects], ...everyCase.map(({ id }) => [id, ...subjects.map((subject) => cell(id, subject))])];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return [...lines, "", ...notes.map((text, index) => `[${index + 1}] ${text}`)].join("\n").trimEnd();
}
