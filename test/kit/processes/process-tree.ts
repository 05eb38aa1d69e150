import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { reachesState } from "./process-state.ts";

/**
 * Stops the process `pid` and all of its descendants (SIGSTOP). Resolves with their ids, parents first, once they have all
 * stopped or ended. A stopped process starts no other one, so none is missed.
 */
export async function pauseTree(pid: number): Promise<readonly number[]> {
  const paused: number[] = [];
  for (let generation: readonly number[] = [pid]; generation.length > 0; generation = await childrenOf(generation)) {
    signalAll(generation, "SIGSTOP");
    await Promise.all(generation.map(async (each) => reachesState(each, "stopped", "gone")));
    paused.push(...generation);
  }
  return paused;
}

/** Kills the process `pid` and all of its descendants (SIGKILL). Resolves once they are all gone. */
export async function killTree(pid: number): Promise<void> {
  const pids = await pauseTree(pid);
  signalAll(pids, "SIGKILL");
  await Promise.all(pids.map(async (each) => reachesState(each, "gone")));
}

/** Sends `signal` to those of `pids` that still exist. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has ended by itself.
    }
  }
}

/** Returns the processes whose parent is one of `pids`. */
export async function childrenOf(pids: readonly number[]): Promise<readonly number[]> {
  const parents = process.platform === "linux" ? parentsFromProc() : await parentsFromPs();
  return parents.filter(([, parent]) => pids.includes(parent)).map(([child]) => child);
}

/**
 * Returns the command line of a process, with NUL between its words. It is empty once the process is gone, and on systems other
 * than Linux.
 */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

type ParentOf = readonly [child: number, parent: number];

/** Reads one file at a time. A machine has hundreds of processes, and several searches at once would have too many open files. */
function parentsFromProc(): readonly ParentOf[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid): ParentOf[] => {
    const stat = statOf(pid);
    // The format is "pid (name) state parent ...". A name may contain anything, brackets too.
    const parent = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    return stat === undefined ? [] : [[Number.parseInt(stat, 10), Number(parent)]];
  });
}

/** Returns undefined if the process is gone. */
function statOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

async function parentsFromPs(): Promise<readonly ParentOf[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  return stdout
    .trim()
    .split("\n")
    .map((line): ParentOf => {
      const [child, parent] = line.trim().split(/\s+/);
      return [Number(child), Number(parent)];
    });
}
