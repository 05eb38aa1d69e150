import { styleText } from "node:util";
import type { Output, ProcessEnvironment } from "./verb.ts";

export type Colour = "green" | "yellow" | "red" | "dim";

/** Returns a function that colours text. It colours only on a terminal, and not if `NO_COLOR` is set or `TERM` is `dumb`. */
export function painter({ env }: ProcessEnvironment, { isTerminal }: Output): (colour: Colour, text: string) => string {
  const hasColours = isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return (colour, text) => (hasColours ? styleText(colour, text, { validateStream: false }) : text);
}
