/** Returns the lines of a table, its head first. A column without a word in it is left out, and nothing stands at a line's end. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): readonly string[] {
  const columns = head.map((_, at) => at).filter((at) => rows.some((row) => row[at]));
  const widths = columns.map((at) => Math.max(...[head, ...rows].map((row) => widthOf(row[at] ?? ""))));
  return [head, ...rows].map((row) =>
    columns
      .map((at, index) => (row[at] ?? "").padEnd((widths[index] ?? 0) + (row[at] ?? "").length - widthOf(row[at] ?? "")))
      .join("  ")
      .trimEnd(),
  );
}

/** The number of code points: near enough to the columns of a terminal. */
function widthOf(text: string): number {
  return [...text].length;
}
