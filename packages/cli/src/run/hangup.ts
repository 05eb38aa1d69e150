import { constants, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { shellStatus } from "./shell-process.ts";

/** The bit of HUP in the signal masks of `/proc/PID/status`. */
const HANGUP = 1n;

/** The parts of a process that show whether it is to ignore HUP. */
export interface HangupSigns {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly parent: number;
  readonly proc?: string;
}

/**
 * Reports whether `nohup` started this process, or a shell that ignores HUP. Node forgets at its start which signals were
 * ignored, so this function uses three other signs:
 * - the variable `_`, in which most shells leave the program's name;
 * - the standard input that `nohup` gives in place of a terminal;
 * - the mask of ignored signals of a parent that is a shell.
 */
export function ignoresHangup({ env, parent, proc = "/proc" }: HangupSigns): boolean {
  return basename(env["_"] ?? "") === "nohup" || hasUnreadableInput(proc) || isIgnoredByShell(parent, proc);
}

/** Reports whether standard input is a /dev/null that is open for writing only, as `nohup` opens it. */
function hasUnreadableInput(proc: string): boolean {
  try {
    if (readlinkSync(`${proc}/self/fd/0`) !== "/dev/null") return false;
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(readFileSync(`${proc}/self/fdinfo/0`, "latin1"))?.[1] ?? "0", 8);
    return (flags & (constants.O_WRONLY | constants.O_RDWR)) === constants.O_WRONLY;
  } catch {
    // The file cannot be read, or this system has no such file.
    return false;
  }
}

/** Reports whether a process is a shell that ignores HUP. Programs inherit the ignored signals of their shell. */
function isIgnoredByShell(pid: number, proc: string): boolean {
  const ignored = BigInt(`0x${shellStatus(pid, "SigIgn", proc) ?? "0"}`);
  return (ignored & HANGUP) !== 0n;
}
