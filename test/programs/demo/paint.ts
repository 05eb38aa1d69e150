import { styleText } from "node:util";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta" | "blue";

/** Formats text for standard output: only on a terminal, and not if `NO_COLOR` is set. */
export type Paint = (style: Style, text: string) => string;

export const paint: Paint = (style, text) => styleText(style, text, { stream: process.stdout });

/** Returns the colour of a term. The colours repeat after a while. */
export function termStyle(term: number): Style {
  return (["cyan", "yellow", "magenta", "blue"] as const)[(term - 1) % 4] ?? "cyan";
}
