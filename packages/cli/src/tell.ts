import type { Surroundings } from "./surroundings.ts";
import { oneLine, withoutPasswords } from "./text.ts";

/** Returns what tells people something: a line on stderr, with the command's name before it, and no password in it. */
export function teller({ stderr }: Pick<Surroundings, "stderr">): (text: string) => void {
  return (text) => stderr.write(`leasehold: ${withoutPasswords(oneLine(text))}\n`);
}
