import type { LeaseSnapshot, LeaseState } from "./lease-store.ts";

/**
 * What keeps candidates from acquiring:
 * - `done`: an occurrence that is done; nobody may, ever again.
 * - `lease`: somebody has the lease, or may have it; nobody may.
 * - `hold`: the lease was released before its minimum hold was over; nobody may for `leftMs` more.
 * - `transfer`: an administrator hands over; only this candidate may.
 * - `reservation`: only candidates of this group may.
 */
export type Bar =
  | { readonly kind: "done" }
  | { readonly kind: "lease" }
  | { readonly kind: "hold"; readonly leftMs: number }
  | { readonly kind: "transfer"; readonly candidateId: string }
  | { readonly kind: "reservation"; readonly group: string };

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
