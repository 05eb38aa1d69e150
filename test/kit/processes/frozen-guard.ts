import { spawn, type ChildProcess } from "node:child_process";

/**
 * Starts a shell that kills the process `pid` once this one has ended, because a stopped process cannot notice that itself. The
 * caller kills the shell when it does not need it any more.
 */
export function guardFrozen(pid: number): ChildProcess {
  const end = 'trap "" INT TERM HUP; read -r _; kill -KILL "$0"';
  return spawn("/bin/sh", ["-c", end, String(pid)], { stdio: ["pipe", "ignore", "ignore"] });
}
