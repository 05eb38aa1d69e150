import type { Blocker, LeaseSnapshot, LeaseState } from "./lease-snapshot.ts";

/** The facts in a store that may keep candidates from acquiring: only those in force at present. */
export interface Claims {
  readonly state: LeaseState;
  readonly done?: boolean | undefined;
  readonly pause?: Extract<Blocker, { kind: "pause" }> | undefined;
  /** The rest of a hold. */
  readonly holdMs?: number | undefined;
  /** The candidate of a transfer. */
  readonly transferTo?: string | undefined;
  /** The group of a reservation. */
  readonly group?: string | undefined;
}

/** Returns the blocker of an acquisition, or `undefined` where anyone may try. Of several, the one that blocks most counts. */
export function blockerOf({ state, done, pause, holdMs = 0, transferTo, group }: Claims): Blocker | undefined {
  if (done) return { kind: "done" };
  if (pause) return pause;
  if (state !== "vacant" && state !== "expired") return { kind: "lease" };
  if (holdMs > 0) return { kind: "hold", leftMs: holdMs };
  if (transferTo !== undefined) return { kind: "transfer", candidateId: transferTo };
  return group === undefined ? undefined : { kind: "reservation", group };
}

/** Reports whether a candidate may try: there is no blocker, or one for others alone. */
export function mayAcquire(snapshot: Pick<LeaseSnapshot, "bar"> | undefined, candidateId: string, group?: string): boolean {
  const bar = snapshot?.bar;
  if (bar?.kind === "transfer") return bar.candidateId === candidateId;
  if (bar?.kind === "reservation") return bar.group === group;
  return bar === undefined;
}
