/** The rules that are checked after every step, by name, with the meaning of a violation. */
export const INVARIANTS = {
  "one-leader": "two candidates are valid at once, each by its own isValid()",
  "lease-covers-validity": "a candidate is valid although a rival could hold the lease",
  "loss-is-signalled": "a task's signal has not aborted although a rival could hold the lease and its process runs",
  "waits-out": "a lease was given to somebody else before its duration can have passed",
  "terms-pause": "an elector leads again right after its last term, without a pause",
  "standbys-are-cheap": "a standby asks more often than its own options allow",
  "one-record": "two writes were chosen in place of the same one, by two majorities",
  "terms-rise": "a term was given out that is not above all terms before it",
  fence: "a guarded write was accepted of a term that was over, or after one of a newer term",
  "loss-is-final": "a candidate that was told that its lease is another's is still valid",
  "starts-valid": "a task was started on a lease that is no longer valid",
  "break-holds": "a term was renewed, or wrote, or went on for long after it was broken",
  "reservation-holds": "somebody else acquired while only the candidate of a transfer, or of a group, might",
  "place-is-held-to-lead": "a candidate joined the queue while it stood back after its last term",
  "hold-holds": "somebody acquired before a minimum hold was over",
  "renewal-is-told": "a renewal by hand has resolved, and the leadership is not valid",
  "orders-are-told": "an administrator's order hit a term that it was not meant for, or its call told wrongly what became of it",
  "stall-ends": "a task was silent for longer than its stall timeout, and its signal has not aborted",
  "overrun-is-told": "a task goes on beside a possible successor, and nobody was told that it overruns",
  "one-task": "a second task was started beside one that is still pending in the same process",
  "run-goes-on": "an elector gave up although nothing told it to",
  "leader-returns": "nobody led within the promised time after the last fault",
  "leader-stays": "a leader lost its term although nothing was wrong",
  "lodger-leads": "an elector that is alone in an election does not lead, though it shares its store object",
  "observer-sees": "an observer that shares its store object with a candidate does not see within a lease who leads",
  "nobody-is-stuck": "a candidate neither leads nor looks any more",
  "nothing-spins": "something is done over and over again without time passing",
  "done-once": "an occurrence was claimed or written to after it was done, or completed by somebody who does not have it",
  "done-is-told": "somebody was told that an occurrence is done which is not, or that it is not which is",
  "occurrence-open": "an occurrence that nobody has done is not done by one more delivery either",
  "waits-between": "a process asked again and again without waiting in between",
  "all-stop": "an elector did not stop when it was told to, or left something behind",
} as const;

export type Invariant = keyof typeof INVARIANTS;

/** An invariant was broken. It ends the run. */
export class Violation extends Error {
  readonly invariant: Invariant;

  constructor(invariant: Invariant, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}
