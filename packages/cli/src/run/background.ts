import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

/**
 * Reports whether this process reads a terminal while another job of the shell is in the foreground, as after `leasehold run …
 * &`. A terminal stops a background job that reads from it. It does not stop the command of `run`, which has a session of its
 * own. The command would take the text that is typed at the shell.
 */
export function isInBackground(stat: string = ownStat(), readsTerminal: boolean = isatty(0)): boolean {
  // "pid (name) state parent group session terminal foreground ...". The name may contain any character, even brackets.
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return readsTerminal && Number(foreground) > 0 && group !== foreground;
}

function ownStat(): string {
  try {
    return readFileSync("/proc/self/stat", "latin1");
  } catch {
    // Only Linux has this file.
    return "";
  }
}
