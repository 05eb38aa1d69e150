import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** The state of a process, as far as a test may ask. A zombie, which nobody has waited for yet, counts as gone. */
export type ProcessState = "running" | "stopped" | "gone";

/** The state of the process `pid` now. Signal 0 could tell neither a stopped process nor a zombie from a running one. */
export async function processState(pid: number): Promise<ProcessState> {
  const letter = process.platform === "linux" ? await letterFromProc(pid) : await letterFromPs(pid);
  if (letter === undefined || letter === "Z" || letter === "X") return "gone";
  return letter === "T" || letter === "t" ? "stopped" : "running";
}

/** Resolves with the state of the process `pid` once it is one of `states`; waits as long as that takes. */
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
    // "pid (name) state ...", and a name may contain anything, brackets too.
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
