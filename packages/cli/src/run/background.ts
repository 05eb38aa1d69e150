import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

/**
 * Reports whether this process reads a terminal that belongs to another job of its shell, as after `leasehold run … &`. The command has a
 * session of its own, so the terminal's rules do not stop it as they stop any other job: it takes what is typed at the shell.
 */
export function isInBackground(stat: string = ownStat(), readsTerminal: boolean = isatty(0)): boolean {
  // "pid (name) state parent group session terminal foreground ...", and a name may contain anything, brackets too.
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return readsTerminal && Number(foreground) > 0 && group !== foreground;
}

function ownStat(): string {
  try {
    return readFileSync("/proc/self/stat", "latin1");
  } catch {
    // Only Linux tells.
    return "";
  }
}
