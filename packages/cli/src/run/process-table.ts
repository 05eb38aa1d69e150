import { readdirSync, readFileSync } from "node:fs";
import { isExhausted, withReserve } from "./descriptor-reserve.ts";

/** What Linux tells of a process in `/proc/PID/stat`. */
export interface ProcessStat {
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** When it started, in ticks since the machine did: with the pid, it names one process and no later one. */
  readonly startTicks: number;
}

/** The process that CMD runs in. Its pid is the id of its group and of its session, too. */
export interface GroupLeader {
  readonly pid: number;
  /** Absent where the system does not tell. */
  readonly startTicks?: number | undefined;
}

/** By which the processes of one term are known. */
export interface Mark {
  /** In the environment of each of them, which also finds those that have left the group and the session. */
  readonly termId: string;
  /** Absent while CMD has not been started, as far as the reader knows. */
  readonly leader?: GroupLeader | undefined;
}

/** A process of the term that has not ended. */
export interface Member {
  readonly pid: number;
  readonly inGroup: boolean;
}

/** @throws if the text is none of Linux's. */
export function parseStat(text: string): ProcessStat {
  // "pid (name) state parent group session ...", and a name may contain anything, brackets too.
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
 * How often the table is read where others are born all the time. A daemon forks, and its parent ends before it is looked at: the
 * child was not in the table that was read, and is in the next.
 */
const MAX_LOOKS = 20;

/** Returns when a process started; `undefined` where it is gone, or the system does not tell. */
export function startTicksOf(pid: number, proc = "/proc"): number | undefined {
  try {
    return statOf(proc, pid)?.startTicks;
  } catch {
    return undefined;
  }
}

/**
 * Returns every process of the term that is neither gone nor a zombie: the members of CMD's group and session, and whoever
 * has the term's id in its environment. `undefined` where the system has no such table.
 *
 * A number that was given to a later process is not mistaken for CMD's: while any member of the group or the session lives, the
 * system gives it to nobody. Nor does one slip away that is born while the others are looked at: where nobody is found, the
 * table is read again, until it names nobody new.
 *
 * @throws if it cannot be read just now, since no file can be opened: that tells nothing of who lives.
 */
export function livingMembers({ termId, leader }: Mark, proc = "/proc"): readonly Member[] | undefined {
  const members: Member[] = [];
  const seen = new Set<number>();
  for (let looks = 0; looks < MAX_LOOKS && members.length === 0; looks += 1) {
    const pids = pidsIn(proc);
    if (!pids) return undefined;
    const unseen = pids.filter((pid) => !seen.has(pid));
    // Nobody has been born since who was not looked at.
    if (unseen.length === 0) break;
    for (const pid of unseen) {
      seen.add(pid);
      const stat = statOf(proc, pid);
      if (!stat || isDead(proc, pid, stat)) continue;
      const isNear = leader !== undefined && [stat.group, stat.session].includes(leader.pid) && !isReused(proc, leader);
      // Whatever descends from CMD has started no earlier.
      const isYounger = leader?.startTicks === undefined || stat.startTicks >= leader.startTicks;
      if (isNear || (isYounger && carries(proc, pid, termId)))
        members.push({ pid, inGroup: isNear && stat.group === leader.pid });
    }
  }
  return members;
}

/**
 * Reports whether any process of a group can be seen, a zombie or not.
 * @throws as `livingMembers` does.
 */
export function showsGroup(group: number, proc = "/proc"): boolean {
  return pidsIn(proc)?.some((pid) => statOf(proc, pid)?.group === group) === true;
}

/** Reports whether a later process has its number: asked of each that seems to belong to it, since that may be born during a look. */
function isReused(proc: string, { pid, startTicks }: GroupLeader): boolean {
  const stat = statOf(proc, pid);
  return stat !== undefined && startTicks !== undefined && stat.startTicks !== startTicks;
}

function pidsIn(proc: string): readonly number[] | undefined {
  const pids = ifThere(() => readdirSync(proc).map(Number).filter(Number.isInteger));
  // Other systems have none, or an empty one.
  return pids && pids.length > 0 ? pids : undefined;
}

function statOf(proc: string, pid: number): ProcessStat | undefined {
  return ifThere(() => parseStat(readFileSync(`${proc}/${pid}/stat`, "latin1")));
}

/** Reads what may be gone, or another user's; then it is undefined. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return withReserve(read);
  } catch (error) {
    if (isExhausted(error)) throw error;
    return undefined;
  }
}

/** A zombie whose other threads still run is not dead: only its first thread has ended. */
function isDead(proc: string, pid: number, { state }: ProcessStat): boolean {
  if (state !== "Z" && state !== "X") return false;
  const tasks = ifThere(() => readdirSync(`${proc}/${pid}/task`)) ?? [];
  return tasks.every((task) => {
    const thread = statOf(`${proc}/${pid}/task`, Number(task));
    return !thread || thread.state === "Z" || thread.state === "X";
  });
}

/** Reports whether it is in the environment that a process was started with; of another user's process nobody may know. */
function carries(proc: string, pid: number, termId: string): boolean {
  const variables = ifThere(() => readFileSync(`${proc}/${pid}/environ`, "latin1"))?.split("\0") ?? [];
  return variables.some((variable) => {
    const [, ids] = /^LEASEHOLD_(?:OUTER_TERM_IDS|TERM_ID)=(.*)$/s.exec(variable) ?? [];
    return ids?.split(",").includes(termId) === true;
  });
}
