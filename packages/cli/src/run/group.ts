import { livingMembers, showsGroup, startTicksOf, type GroupLeader, type Mark } from "./process-table.ts";

/** Reports whether every process of the term is gone; a zombie is, where the system tells one from the living. */
export function isGone(mark: Mark): boolean {
  const { leader } = mark;
  try {
    const members = livingMembers(mark);
    if (members && members.length > 0) return false;
    return !leader || !(members ? isHidden(leader) : isThere(leader));
  } catch {
    // Who cannot look has not seen that it is gone.
    return false;
  }
}

/** Sends signals, one after the other, to every process of the term that is seen now: on a busy machine a look may take a second. */
export function signalGroup(mark: Mark, ...signals: readonly NodeJS.Signals[]): void {
  const { leader } = mark;
  // KILL has to come in time. Another signal waits for the look, or whoever is started because of it would hear it, too.
  const killed = leader && signals.includes("SIGKILL") && keepsNumber(leader) ? -leader.pid : undefined;
  if (killed !== undefined) send(killed, "SIGKILL");
  const targets = targetsOf(mark).filter((target) => target !== killed);
  for (const signal of signals) for (const target of targets) send(target, signal);
}

/** Asks every process of the term to end; one that is stopped hears it, too. */
export function endGroup(mark: Mark, signal: NodeJS.Signals): void {
  signalGroup(mark, signal, "SIGCONT");
}

/** Returns whom a signal is for, as `kill` takes them: a negative number is a group's. */
function targetsOf(mark: Mark): readonly number[] {
  const { leader } = mark;
  // At once to the whole group, so that none slips away by starting another.
  const group = leader ? [-leader.pid] : [];
  try {
    const members = livingMembers(mark);
    if (!members) return group;
    const others = members.filter(({ inGroup }) => !inGroup).map(({ pid }) => pid);
    // To no group of which nobody is left, whose number may be another's.
    const isLeft = members.some(({ inGroup }) => inGroup) || (leader && isHidden(leader));
    return isLeft ? [...group, ...others] : others;
  } catch {
    return group;
  }
}

/** Reports whether its number is certain to be its own, and no later process's. */
function keepsNumber({ pid, startTicks }: GroupLeader): boolean {
  return startTicks !== undefined && startTicksOf(pid) === startTicks;
}

/** Reports whether the table has nothing of a group that is there, as where `/proc` hides what other users run, or what has capabilities. */
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
    // Another user's process may not be signalled, and is there.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
