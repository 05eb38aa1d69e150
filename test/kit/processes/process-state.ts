import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** The state of a process, as far as tests need it. A zombie, for which no process has waited yet, counts as gone. */
export type ProcessState = "running" | "stopped" | "gone";

/**
 * Returns the present state of the process `pid`. Signal 0 does not distinguish a stopped process or a zombie from a running one.
 */
export async function processState(pid: number): Promise<ProcessState> {
  const letter = process.platform === "linux" ? await letterFromProc(pid) : await letterFromPs(pid);
  if (letter === undefined || letter === "Z" || letter === "X") return "gone";
  return letter === "T" || letter === "t" ? "stopped" : "running";
}

/** Resolves with the state of the process `pid` once it is one of `states`, without a time limit. */
export async function reachesState(pid: number, ...states: readonly ProcessState[]): Promise<ProcessState> {
  for (;;) {
    const state = await processState(pid);
    if (states.includes(state)) return state;
    await delay(2);
  }
}

async function letterFromProc(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    // The format is "pid (name) state ...". A name may contain anything, brackets too.
    return stat.charAt(stat.lastIndexOf(")") + 2);
  } catch {
    return undefined;
  }
}

function letterFromPs(pid: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile("ps", ["-o", "state=", "-p", String(pid)], (error, stdout) =>
      resolve(error === null ? stdout.trim().charAt(0) : undefined),
    );
  });
}
