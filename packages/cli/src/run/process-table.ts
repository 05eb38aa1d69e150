import { readdirSync, readFileSync } from "node:fs";
import { isExhausted, withReserve } from "./descriptor-reserve.ts";

/** The fields of `/proc/PID/stat` on Linux that are used here. */
export interface ProcessStat {
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** The start of the process, in ticks since the machine started. Together with the pid, this identifies one process. */
  readonly startTicks: number;
}

/** CMD's own process. Its pid is also the id of its group and of its session. */
export interface GroupLeader {
  readonly pid: number;
  /** Absent if the system does not show it. */
  readonly startTicks?: number | undefined;
}

/** Identifies the processes of one term. */
export interface Mark {
  /** Each process has it in its environment, also one that has left the group and the session. */
  readonly termId: string;
  /** Absent as long as the reader does not know that CMD has been started. */
  readonly leader?: GroupLeader | undefined;
}

/** A process of the term that has not ended. */
export interface Member {
  readonly pid: number;
  readonly inGroup: boolean;
}

/** @throws if the text does not have the format of Linux. */
export function parseStat(text: string): ProcessStat {
  // "pid (name) state parent group session ...". The name may contain any character, even brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const stat = {
    state: fields[0] as string,
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTicks: Number(fields[19]),
  };
  if (!Number.isFinite(stat.startTicks)) throw new Error("a line of /proc/PID/stat cannot be read");
  return stat;
}

/**
 * The most reads of the table in one search, if new processes appear all the time. One read is not enough: a daemon may fork and
 * its parent end before the parent is checked. The child was not in the table that was read, but is in the next.
 */
const MAX_LOOKS = 20;

/** Returns when a process started. Undefined if the process is gone, or the system does not show it. */
export function startTicksOf(pid: number, proc = "/proc"): number | undefined {
  try {
    return statOf(proc, pid)?.startTicks;
  } catch {
    return undefined;
  }
}

/**
 * Returns the processes of the term that have not ended; a zombie has ended. These are the members of CMD's group and session,
 * and each process with the term's id in its environment. Undefined if the system has no such table.
 *
 * A later process with the same number is not mistaken for CMD. The system does not reuse the number while a member of the group
 * or the session lives. A process that starts during the search is not missed. If no process of the term is found, the table is
 * read again until it shows no new one.
 *
 * @throws if no file can be opened now. The error says nothing about which processes live.
 */
export function livingMembers({ termId, leader }: Mark, proc = "/proc"): readonly Member[] | undefined {
  const members: Member[] = [];
  const seen = new Set<number>();
  for (let looks = 0; looks < MAX_LOOKS && members.length === 0; looks += 1) {
    const pids = pidsIn(proc);
    if (!pids) return undefined;
    const unseen = pids.filter((pid) => !seen.has(pid));
    // No process has started since the last read.
    if (unseen.length === 0) break;
    for (const pid of unseen) {
      seen.add(pid);
      const stat = statOf(proc, pid);
      if (!stat || isDead(proc, pid, stat)) continue;
      const isNear = leader !== undefined && [stat.group, stat.session].includes(leader.pid) && !isReused(proc, leader);
      // A descendant of CMD cannot have started before CMD.
      const isYounger = leader?.startTicks === undefined || stat.startTicks >= leader.startTicks;
      if (isNear || (isYounger && carries(proc, pid, termId)))
        members.push({ pid, inGroup: isNear && stat.group === leader.pid });
    }
  }
  return members;
}

/**
 * Reports whether the table shows any process of a group, a zombie or not.
 * @throws as `livingMembers` does.
 */
export function showsGroup(group: number, proc = "/proc"): boolean {
  return pidsIn(proc)?.some((pid) => statOf(proc, pid)?.group === group) === true;
}

/**
 * Reports whether a later process has CMD's number. Checked for each member, because that process may start during the search.
 */
function isReused(proc: string, { pid, startTicks }: GroupLeader): boolean {
  const stat = statOf(proc, pid);
  return stat !== undefined && startTicks !== undefined && stat.startTicks !== startTicks;
}

function pidsIn(proc: string): readonly number[] | undefined {
  const pids = ifThere(() => readdirSync(proc).map(Number).filter(Number.isInteger));
  // Other systems have no /proc, or an empty one.
  return pids && pids.length > 0 ? pids : undefined;
}

function statOf(proc: string, pid: number): ProcessStat | undefined {
  return ifThere(() => parseStat(readFileSync(`${proc}/${pid}/stat`, "latin1")));
}

/** Calls `read`. Returns undefined if the file is gone or belongs to another user. @throws if no file can be opened. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return withReserve(read);
  } catch (error) {
    if (isExhausted(error)) throw error;
    return undefined;
  }
}

/** Reports whether all threads have ended. In some zombies only the first thread has ended, and other threads still run. */
function isDead(proc: string, pid: number, { state }: ProcessStat): boolean {
  if (state !== "Z" && state !== "X") return false;
  const tasks = ifThere(() => readdirSync(`${proc}/${pid}/task`)) ?? [];
  return tasks.every((task) => {
    const thread = statOf(`${proc}/${pid}/task`, Number(task));
    return !thread || thread.state === "Z" || thread.state === "X";
  });
}

/** Reports whether a process was started with the term's id in its environment. False if another user's process hides it. */
function carries(proc: string, pid: number, termId: string): boolean {
  const variables = ifThere(() => readFileSync(`${proc}/${pid}/environ`, "latin1"))?.split("\0") ?? [];
  return variables.some((variable) => {
    const [, ids] = /^LEASEHOLD_(?:OUTER_TERM_IDS|TERM_ID)=(.*)$/s.exec(variable) ?? [];
    return ids?.split(",").includes(termId) === true;
  });
}
