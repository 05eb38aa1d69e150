import { inCommandWords } from "./command-words.ts";
import type { ProcessEnvironment } from "./process-environment.ts";
import { oneLine, printable, withoutPasswords } from "./text.ts";

/** Returns a function that prints a line to stderr, with the command's name before it. */
export function teller({ stderr }: Pick<ProcessEnvironment, "stderr">): (text: string) => void {
  return (text) => stderr.write(`leasehold: ${messageText(text)}\n`);
}

/** Makes a message safe for a terminal: one line, without passwords and control characters, in the words of this command. */
export function messageText(text: string): string {
  return printable(inCommandWords(withoutPasswords(oneLine(text))));
}
