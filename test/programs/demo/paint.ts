import { styleText } from "node:util";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta" | "blue";

/** Gives text a look, where standard output can show it: on a terminal, unless `NO_COLOR` is set. */
export type Paint = (style: Style, text: string) => string;

export const paint: Paint = (style, text) => styleText(style, text, { stream: process.stdout });

/** Every term has a colour of its own, which comes back after a while. */
export function termStyle(term: number): Style {
  return (["cyan", "yellow", "magenta", "blue"] as const)[(term - 1) % 4] ?? "cyan";
}
