import { readFileSync } from "node:fs";

const SHELLS: ReadonlySet<string> = new Set(["sh", "ash", "bash", "dash", "ksh", "mksh", "zsh", "busybox"]);

/**
 * Returns a field of a shell's `/proc/PID/status`, such as `PPid`. Undefined if the process is no shell, or the file cannot be
 * read; only Linux has it.
 */
export function shellStatus(pid: number, field: string, proc = "/proc"): string | undefined {
  try {
    const status = readFileSync(`${proc}/${pid}/status`, "latin1");
    const valueOf = (name: string): string | undefined => new RegExp(`^${name}:\\t(.*)$`, "m").exec(status)?.[1];
    return SHELLS.has(valueOf("Name") ?? "") ? valueOf(field) : undefined;
  } catch {
    return undefined;
  }
}
