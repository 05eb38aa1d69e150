/** Returns lines as one text. */
export function textOfLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Returns the lines of a table, its head first. Returns none without rows. Leaves out a column whose cells are all empty, and spaces
 * at a line's end.
 */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): readonly string[] {
  if (rows.length === 0) return [];
  const columns = head.map((_, at) => at).filter((at) => rows.some((row) => row[at]));
  const widths = columns.map((at) => Math.max(...[head, ...rows].map((row) => widthOf(row[at] ?? ""))));
  return [head, ...rows].map((row) =>
    columns
      .map((at, index) => (row[at] ?? "").padEnd((widths[index] ?? 0) + (row[at] ?? "").length - widthOf(row[at] ?? "")))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns the number of code points, which is close to the number of columns on a terminal. */
function widthOf(text: string): number {
  return [...text].length;
}
