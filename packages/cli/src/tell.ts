import type { ProcessEnvironment } from "./process-environment.ts";
import { oneLine, withoutPasswords } from "./text.ts";

/** Returns a function that prints a line to stderr, with the command's name before it and without passwords. */
export function teller({ stderr }: Pick<ProcessEnvironment, "stderr">): (text: string) => void {
  return (text) => stderr.write(`leasehold: ${withoutPasswords(oneLine(text))}\n`);
}
