import { livingMembers, showsGroup, startTicksOf, type GroupLeader, type Mark } from "./process-table.ts";

/** Reports whether every process of the term is gone. A zombie counts as gone on Linux, where the system shows zombies. */
export function isGone(mark: Mark): boolean {
  const { leader } = mark;
  try {
    const members = livingMembers(mark);
    if (members && members.length > 0) return false;
    return !leader || !(members ? isHidden(leader) : isThere(leader));
  } catch {
    // The table of processes cannot be read now, so it is unknown whether they are gone.
    return false;
  }
}

/** Sends signals, one after the other, to every process of the term. On a busy machine, finding them may take a second. */
export function signalGroup(mark: Mark, ...signals: readonly NodeJS.Signals[]): void {
  const { leader } = mark;
  // KILL must come in time, so the group gets it before the search. Other signals come after the search. Otherwise the search
  // would find a process that CMD starts in response to the signal, and that process would get the signal too.
  const killed = leader && signals.includes("SIGKILL") && keepsNumber(leader) ? -leader.pid : undefined;
  if (killed !== undefined) send(killed, "SIGKILL");
  const targets = targetsOf(mark).filter((target) => target !== killed);
  for (const signal of signals) for (const target of targets) send(target, signal);
}

/** Asks every process of the term to end. CONT follows, because a stopped process handles no other signal. */
export function endGroup(mark: Mark, signal: NodeJS.Signals): void {
  signalGroup(mark, signal, "SIGCONT");
}

/** Returns the targets of a signal, as `kill` takes them: a negative number names a group. */
function targetsOf(mark: Mark): readonly number[] {
  const { leader } = mark;
  // One call signals the whole group, so no member can escape by starting another process.
  const group = leader ? [-leader.pid] : [];
  try {
    const members = livingMembers(mark);
    if (!members) return group;
    const others = members.filter(({ inGroup }) => !inGroup).map(({ pid }) => pid);
    // Leave out a group without members: its number may belong to another group by now.
    const isLeft = members.some(({ inGroup }) => inGroup) || (leader && isHidden(leader));
    return isLeft ? [...group, ...others] : others;
  } catch {
    return group;
  }
}

/** Reports whether the pid certainly still belongs to CMD, and not to a later process. */
function keepsNumber({ pid, startTicks }: GroupLeader): boolean {
  return startTicks !== undefined && startTicksOf(pid) === startTicks;
}

/**
 * Reports whether a group exists that the table does not show. `/proc` may hide processes of other users or with capabilities.
 */
function isHidden(leader: GroupLeader): boolean {
  return isThere(leader) && !showsGroup(leader.pid);
}

function isThere({ pid }: GroupLeader): boolean {
  return send(-pid, 0);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // EPERM means that the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
