import { livingMembers, startTicksOf, type GroupLeader, type Mark, type Member } from "./process-table.ts";

/** Reports whether every process of the term is gone; a zombie is, where the system tells one from the living. */
export function isGone(mark: Mark): boolean {
  try {
    const members = livingMembers(mark);
    if (members && members.length > 0) return false;
    return members && !isHidden(mark.leader) ? true : !mark.leader || !send(-mark.leader.pid, 0);
  } catch {
    // Who cannot look has not seen that it is gone.
    return false;
  }
}

/** Sends signals, one after the other, to every process of the term that is seen now: on a busy machine a look may take a second. */
export function signalGroup(mark: Mark, ...signals: readonly NodeJS.Signals[]): void {
  const { leader } = mark;
  // Before anybody else is looked for, since KILL has to come in time.
  const isSure = leader?.startTicks !== undefined && startTicksOf(leader.pid) === leader.startTicks;
  if (isSure) sendEach([-leader.pid], signals);
  const members = membersSeen(mark);
  // At once to the whole group, so that none slips away by starting another; to no group of which nobody is left, whose number may be another's.
  const isThere = !members || isHidden(leader) || members.some(({ inGroup }) => inGroup);
  const group = leader && !isSure && isThere ? [-leader.pid] : [];
  const others = members?.filter(({ inGroup }) => !inGroup).map(({ pid }) => pid) ?? [];
  sendEach([...group, ...others], signals);
}

/** Asks every process of the term to end; one that is stopped hears it, too. */
export function endGroup(mark: Mark, signal: NodeJS.Signals): void {
  signalGroup(mark, signal, "SIGCONT");
}

/** Reports whether the table that we see has nothing of it, as where `/proc` hides other users' processes. */
function isHidden(leader: GroupLeader | undefined): boolean {
  return leader !== undefined && leader.startTicks === undefined;
}

/** Returns what of the term can be seen; `undefined` where that is unknown. */
function membersSeen(mark: Mark): readonly Member[] | undefined {
  try {
    return livingMembers(mark);
  } catch {
    return undefined;
  }
}

function sendEach(pids: readonly number[], signals: readonly NodeJS.Signals[]): void {
  for (const signal of signals) for (const pid of pids) send(pid, signal);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // Another user's process may not be signalled, and is there.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
