import type { Bar, LeaseSnapshot, LeaseState } from "./lease-snapshot.ts";

/** What a store has found that may bar an acquisition: only what is in force at present. */
export interface Claims {
  readonly state: LeaseState;
  readonly done?: boolean | undefined;
  /** What is left of a hold. */
  readonly holdMs?: number | undefined;
  /** The candidate of a hand-over. */
  readonly transferTo?: string | undefined;
  /** The group of a reservation. */
  readonly group?: string | undefined;
}

/** What bars an acquisition, or `undefined` where anyone may try. Where several things do, the one that bars most counts. */
export function barOf({ state, done, holdMs = 0, transferTo, group }: Claims): Bar | undefined {
  if (done) return { kind: "done" };
  if (state !== "vacant" && state !== "expired") return { kind: "lease" };
  if (holdMs > 0) return { kind: "hold", leftMs: holdMs };
  // What an administrator orders goes before whose turn it is.
  if (transferTo !== undefined) return { kind: "transfer", candidateId: transferTo };
  return group === undefined ? undefined : { kind: "reservation", group };
}

/** Whether a candidate may try: nothing bars it, or only others. */
export function mayAcquire(snapshot: Pick<LeaseSnapshot, "bar"> | undefined, candidateId: string, group?: string): boolean {
  const bar = snapshot?.bar;
  if (bar?.kind === "transfer") return bar.candidateId === candidateId;
  if (bar?.kind === "reservation") return bar.group === group;
  return bar === undefined;
}
