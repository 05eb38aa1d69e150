/**
 * The reason why a claimed occurrence is over without a run:
 * - `overlap`: another occurrence of the schedule ran, or waited already.
 * - `cancelled`: its task was aborted, because a later occurrence was due.
 * - `paused`: an administrator had paused the schedule's election.
 * - `missed`: `startWithinMs` ended while it waited.
 */
export type NotRun = "overlap" | "cancelled" | "paused" | "missed";

const NOT_RUN: ReadonlySet<unknown> = new Set<NotRun>(["overlap", "cancelled", "paused", "missed"]);

/** Reports whether a value is one of these reasons. The `skipped` of a task's own result may be anything. */
export function isNotRun(value: unknown): value is NotRun {
  return NOT_RUN.has(value);
}

/** The facts that are recorded together with the end of an occurrence. */
export interface Completion {
  /** The result of the task, as JSON holds it; absent where none was kept. */
  readonly result?: unknown;
  /** Set where the last try of the task has failed: the code of its error. */
  readonly failure?: string | undefined;
  /** Set where the occurrence is over without a run. */
  readonly skipped?: NotRun | undefined;
}

/**
 * The reason why a candidate may not acquire at present:
 * - `done`: the occurrence is over; no candidate may acquire it again. `completion` says more, for instance that it was skipped.
 * - `lease`: a candidate has the lease, or may have it; no other may acquire.
 * - `hold`: the lease was released before its minimum hold was over; no candidate may acquire for `leftMs` more.
 * - `pause`: an administrator has paused the election; no candidate may acquire until it is resumed. A present leader goes on.
 * - `transfer`: an administrator transfers the leadership; only this candidate may acquire.
 * - `reservation`: only candidates of this group may acquire.
 */
export type Blocker =
  | { readonly kind: "done"; readonly completion?: Completion | undefined }
  | { readonly kind: "lease" }
  | { readonly kind: "hold"; readonly leftMs: number }
  /** `sinceMs` is by the wall clock of the process that paused, in milliseconds since the Unix epoch. */
  | { readonly kind: "pause"; readonly reason: string; readonly sinceMs?: number | undefined }
  | { readonly kind: "transfer"; readonly candidateId: string }
  | { readonly kind: "reservation"; readonly group: string };

/**
 * The state of a lease, as a read finds it.
 * - `held`: a candidate leads.
 * - `ending`: a candidate leads, and an administrator has asked for its end.
 * - `expired`: the holder did not renew in time; any candidate may acquire, unless `bar` blocks it.
 * - `vacant`: released, or never acquired; any candidate may acquire, unless `bar` blocks it.
 * - `unknown`: this reader cannot know the state yet; `holder` is the last one known.
 */
export type LeaseState = "held" | "ending" | "expired" | "vacant" | "unknown";

export interface LeaseSnapshot {
  readonly election: string;
  readonly state: LeaseState;
  /** The last term that was given out; 0 if there was none. */
  readonly term: number;
  /** The present leader or, where the state is `unknown` or `expired`, the last one known. */
  readonly holder?: string | undefined;
  readonly value?: string | undefined;
  /** Bounds of the time since the last renewal, in milliseconds; the upper one may be Infinity. */
  readonly ageMs?: readonly [min: number, max: number] | undefined;
  readonly leaseDurationMs?: number | undefined;
  /** No process without memory can know the age. An attempt to acquire fails, and makes the store restart the age. */
  readonly ageUnknown?: true | undefined;
  /** Absent where any candidate may try. */
  readonly bar?: Blocker | undefined;
  readonly endingReason?: string | undefined;
  /** The last terms, the oldest first: at most five, in 400 bytes. Absent where the store keeps none. */
  readonly history?: readonly PastTerm[] | undefined;
}

/** A term in the history of an election. Each time is by the wall clock that wrote it, since the Unix epoch. For people. */
export interface PastTerm {
  readonly term: number;
  readonly candidateId: string;
  readonly sinceMs: number;
  /** Absent while the term lasts, and if its holder did not write the end. */
  readonly untilMs?: number | undefined;
  /**
   * Why the term ended; absent while it lasts. `expired`: the holder did not renew it. `broken`: an administrator ended it.
   * `unknown`: no process has seen the end, or a version of Leasehold without history has led since.
   */
  readonly end?: "released" | "transferred" | "broken" | "expired" | "unknown" | undefined;
}

export interface Claims {
  readonly state: LeaseState;
  readonly done?: boolean | undefined;
  readonly completion?: Completion | undefined;
  readonly pause?: Extract<Blocker, { kind: "pause" }> | undefined;
  readonly holdMs?: number | undefined;
  readonly transferTo?: string | undefined;
  readonly group?: string | undefined;
}

/** Returns the strictest of several blockers; `undefined` if any candidate may try. */
export function blockerOf({ state, done, completion, pause, holdMs = 0, transferTo, group }: Claims): Blocker | undefined {
  if (done) return { kind: "done", ...(completion ? { completion } : {}) };
  if (pause) return pause;
  if (state !== "vacant" && state !== "expired") return { kind: "lease" };
  if (holdMs > 0) return { kind: "hold", leftMs: holdMs };
  if (transferTo !== undefined) return { kind: "transfer", candidateId: transferTo };
  return group === undefined ? undefined : { kind: "reservation", group };
}

/** Reports whether a candidate may try: nothing blocks, or the blocker applies only to others. */
export function mayAcquire(snapshot: Pick<LeaseSnapshot, "bar"> | undefined, candidateId: string, group?: string): boolean {
  const bar = snapshot?.bar;
  if (bar?.kind === "transfer") return bar.candidateId === candidateId;
  if (bar?.kind === "reservation") return bar.group === group;
  return bar === undefined;
}
