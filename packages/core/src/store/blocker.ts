import type { Blocker, Completion, LeaseSnapshot, LeaseState } from "./lease-snapshot.ts";

/** The facts that are in force, and may block an acquisition. */
export interface Claims {
  readonly state: LeaseState;
  readonly done?: boolean | undefined;
  /** The facts that are recorded with `done`. */
  readonly completion?: Completion | undefined;
  readonly pause?: Extract<Blocker, { kind: "pause" }> | undefined;
  /** The rest of a hold, in milliseconds. */
  readonly holdMs?: number | undefined;
  readonly transferTo?: string | undefined;
  readonly group?: string | undefined;
}

/** Of several blockers it returns the strictest; `undefined` if any candidate may try. */
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
