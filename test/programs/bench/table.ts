import type { Result } from "./section.ts";

/** Returns results as a table for people. */
export function table(results: readonly Result[]): string {
  const rows = results.map(({ measure, unit, n, median, min, max, goal }) => [
    measure,
    short(median),
    min === max ? "" : `${short(min)} .. ${short(max)}`,
    goal === undefined ? "" : `<= ${short(goal)} ${median <= goal ? "met" : "MISSED"}`,
    String(n),
    unit,
  ]);
  const all = [["", "median", "range", "goal", "n", "unit"], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) => `  ${row.map((cell, column) => aligned(cell, widths[column]!, column)).join("  ")}`.trimEnd())
    .join("\n");
}

/** Aligns names to the left, and numbers to the right. */
function aligned(cell: string, width: number, column: number): string {
  return column === 0 || column === 5 ? cell.padEnd(width) : cell.padStart(width);
}

/** Returns a number with three significant digits. */
export function short(value: number): string {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(digits, 6) });
}
