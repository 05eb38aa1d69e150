/** Returns a Markdown table as the formatter leaves it: each column is as wide as its widest cell. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(...[head, ...rows].map((row) => [...(row[column] ?? "")].length), name.length),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - [...cell].length)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
