import type { LeaseSnapshot } from "./lease-snapshot.ts";

// The options and outcomes of an administrator's calls; see `LeaseStore`.

export interface AdminCallOptions {
  /** The longest time for each request of the call, in milliseconds. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
}

export interface BreakOptions extends AdminCallOptions {
  readonly reason: string;
  /** Break only this term, and never a successor. @defaultValue the term that the first read finds */
  readonly ifTerm?: number | undefined;
  /** Do not wait for the lease to run out. The old leader may still believe that it leads; then only fencing protects. */
  readonly immediate?: boolean | undefined;
}

/** `broken`: the term is closed, or its blockers are removed. After a lost reply, also if the term has ended since. */
export type BreakOutcome =
  | { readonly broken: true; readonly term: number }
  | { readonly broken: false; readonly current?: LeaseSnapshot | undefined };

export interface PauseOptions extends AdminCallOptions {
  /** The reason, of at most 500 bytes, for people who ask later. */
  readonly reason: string;
}

export interface PauseOutcome {
  readonly isNew: boolean;
  readonly reason: string;
  /** By the wall clock of the process that paused, in milliseconds since the Unix epoch. */
  readonly sinceMs?: number | undefined;
}

export interface ResumeOutcome {
  readonly resumed: boolean;
}

export interface RepairOptions extends AdminCallOptions {
  /**
   * The least next term, above every term that a process or a fenced resource has seen. Round it up generously.
   * @defaultValue 1,000 above the highest known term; without any it must be given
   */
  readonly minTerm?: number | undefined;
  /**
   * The longest lease that the former holder may have had. No candidate may acquire before it has passed.
   * @defaultValue the duration in the record that this process observed last, else 60,000
   */
  readonly leaseDurationMs?: number | undefined;
  /** The reason, for people. Readers see it as `endingReason` until the next candidate acquires. @defaultValue none */
  readonly reason?: string | undefined;
}

/** `current` is the lease that is held; nothing was changed. */
export type RepairOutcome =
  | { readonly repaired: true; readonly minTerm: number; readonly holdMs: number }
  | { readonly repaired: false; readonly current: LeaseSnapshot };

export interface TransferOptions extends AdminCallOptions {
  /** @defaultValue the term that the first read finds */
  readonly ifTerm?: number | undefined;
  /** The time for which only the named candidate may acquire once the lease is free; at most ten minutes. @defaultValue 30_000 */
  readonly transferTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * - `accepted`: the named candidate leads.
 * - `expired`: it did not acquire in time; any candidate may.
 * - `lost`: another candidate leads, or the term to end was over already, or the election was paused meanwhile.
 */
export type TransferOutcome = "accepted" | "expired" | "lost";
