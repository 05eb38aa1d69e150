import { readFileSync, statSync } from "node:fs";

/**
 * Returns a sentence that names the processes that have locked the file, and says which of them are stopped. A process that is
 * frozen inside a transaction keeps its lock. Returns an empty text if the owners are unknown, as on systems other than Linux.
 */
export function lockOwners(path: string): string {
  try {
    const { ino } = statSync(path);
    const locks = readFileSync("/proc/locks", "utf8").split("\n");
    const pids = locks.flatMap((line) => {
      // An example: "1: POSIX  ADVISORY  WRITE 4711 fd:01:263401 1073741824 1073742335". A waiting lock has "->" after its
      // number.
      const [, , , kind, pid, file] = line.trim().split(/\s+/);
      return kind === "WRITE" && file?.endsWith(`:${ino}`) ? [Number(pid)] : [];
    });
    const owners = [...new Set(pids)].filter((pid) => pid !== process.pid);
    if (owners.length === 0) return "";
    return ` '${path}' is locked by ${owners.map((pid) => `process ${pid}${isStopped(pid) ? ", which is stopped" : ""}`).join(" and ")}.`;
  } catch {
    return "";
  }
}

function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The format is "pid (name) state". The name may contain any character, also brackets.
  return /^[Tt]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}
