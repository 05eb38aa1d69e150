import { styleText } from "node:util";
import type { Output, Surroundings } from "./surroundings.ts";

export type Colour = "green" | "yellow" | "red" | "dim";

/** Returns what colours a text for an output: nothing but on a terminal that shows colours, where nobody has said `NO_COLOR`. */
export function painter({ env }: Surroundings, { isTerminal }: Output): (colour: Colour, text: string) => string {
  const hasColours = isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return (colour, text) => (hasColours ? styleText(colour, text, { validateStream: false }) : text);
}
