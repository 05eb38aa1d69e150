import { livingMembers, type Mark, type Member } from "./process-table.ts";

/** Reports whether every process of the term is gone; a zombie is, where the system tells one from the living. */
export function isGone(mark: Mark): boolean {
  try {
    const members = livingMembers(mark);
    return members ? members.length === 0 : !mark.leader || !send(-mark.leader.pid, 0);
  } catch {
    // Who cannot look has not seen that it is gone.
    return false;
  }
}

/** Sends signals, one after the other, to every process of the term that is seen now: on a busy machine a look may take a second. */
export function signalGroup(mark: Mark, ...signals: readonly NodeJS.Signals[]): void {
  const members = membersSeen(mark);
  const { leader } = mark;
  // At once to the whole group, so that none slips away by starting another; to no group of which nobody is left, whose number may be another's.
  const group = leader && (!members || members.some(({ inGroup }) => inGroup)) ? [-leader.pid] : [];
  const others = members?.filter(({ inGroup }) => !inGroup).map(({ pid }) => pid) ?? [];
  for (const signal of signals) for (const pid of [...group, ...others]) send(pid, signal);
}

/** Asks every process of the term to end; one that is stopped hears it, too. */
export function endGroup(mark: Mark, signal: NodeJS.Signals): void {
  signalGroup(mark, signal, "SIGCONT");
}

/** Returns what of the term can be seen; `undefined` where that is unknown. */
function membersSeen(mark: Mark): readonly Member[] | undefined {
  try {
    return livingMembers(mark);
  } catch {
    return undefined;
  }
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // Another user's process may not be signalled, and is there.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
