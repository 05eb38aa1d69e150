import { constants, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

const SHELLS: ReadonlySet<string> = new Set(["sh", "ash", "bash", "dash", "ksh", "mksh", "zsh", "busybox"]);
/** HUP in the masks of `/proc/PID/status`. */
const HANGUP = 1n;

/** What of a process tells that HUP is to be ignored. */
export interface HangupSigns {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly parent: number;
  readonly proc?: string;
}

/**
 * Reports whether this process was started by `nohup`, or by a shell that was. Node forgets at its start which signals were ignored, so
 * that other signs have to do: the variable in which most shells leave the program's name, the standard input that `nohup` gives in
 * place of a terminal, and a shell's own mask.
 */
export function ignoresHangup({ env, parent, proc = "/proc" }: HangupSigns): boolean {
  return basename(env["_"] ?? "") === "nohup" || hasUnreadableInput(proc) || isIgnoredByShell(parent, proc);
}

/** `nohup` opens /dev/null for writing only. */
function hasUnreadableInput(proc: string): boolean {
  return isSo(() => {
    if (readlinkSync(`${proc}/self/fd/0`) !== "/dev/null") return false;
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(readFileSync(`${proc}/self/fdinfo/0`, "latin1"))?.[1] ?? "0", 8);
    return (flags & (constants.O_WRONLY | constants.O_RDWR)) === constants.O_WRONLY;
  });
}

/** What a shell ignores, the programs that it starts ignore as well. */
function isIgnoredByShell(pid: number, proc: string): boolean {
  return isSo(() => {
    const status = readFileSync(`${proc}/${pid}/status`, "latin1");
    const name = /^Name:\t(.*)$/m.exec(status)?.[1] ?? "";
    const ignored = BigInt(`0x${/^SigIgn:\t([\da-f]+)$/m.exec(status)?.[1] ?? "0"}`);
    return SHELLS.has(name) && (ignored & HANGUP) !== 0n;
  });
}

function isSo(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    // The system does not tell.
    return false;
  }
}
