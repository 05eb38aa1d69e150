import type { Lease, RenewOutcome } from "../store/lease-store.ts";
import type { Instant } from "../time/clock.ts";
import type { Timing } from "./timing.ts";

export interface TermPlan {
  readonly lease: Lease;
  readonly timing: Timing;
  readonly renewal: "scheduled" | "manual";
  readonly releaseOnStop: boolean;
  readonly minimumHoldMs: number;
}

/**
 * A phase never goes back.
 *
 * - `leading`: the leadership is valid, and the signal is intact.
 * - `ending`: the signal has aborted. The leadership is still valid, and renewals only cover the drain.
 * - `over`: `isValid()` is false. The task is still pending. After a completion alone, the signal is still intact.
 * - `settled`: the task has settled. The lease is released, or left to expire.
 */
export type TermPhase = "leading" | "ending" | "over" | "settled";

/** `atMs` is when the next renewal is due, or when the renewal under way was requested, by the monotonic clock. */
export type Renewal =
  | { readonly is: "due"; readonly atMs: number }
  | {
      readonly is: "under-way";
      readonly atMs: number;
      readonly isBeforeLastTry: boolean;
      /** A wake-up came after `atMs`. The reply may be older than the wake-up, so another renewal follows at once. */
      readonly isWoken: boolean;
    }
  /** The lease is not extended any more. Once closed, renewals stay closed. */
  | { readonly is: "closed" };

/** The end of the task. It begins when the signal aborts. */
export interface Drain {
  readonly reason: Error;
  readonly since: Instant;
  /** By the monotonic clock. A task that is still pending then has overrun. */
  readonly untilMs: number;
  readonly isOverrun: boolean;
}

/** The state of one leadership. Its times count from the send of the last good request, `grantedAt`. */
export interface TermState {
  readonly plan: TermPlan;
  readonly phase: TermPhase;
  /** Read before the send of the last request that is known to have extended the lease. */
  readonly grantedAt: Instant;
  readonly renewal: Renewal;
  readonly failures: number;
  readonly checkpointMs: number;
  readonly drain: Drain | undefined;
  /** The error that `assertValid()` throws. Set in the phases `over` and `settled`. */
  readonly over: Error | undefined;
  /** True if the elector itself is stopping, and not only this term. */
  readonly isStopping: boolean;
  /** The outcome of an occurrence's completion. It is `unknown` from the send on, until the store confirms it. */
  readonly completion: "not-sent" | "unknown" | "confirmed";
}

export type TermEvent =
  /** A caller asks whether the leadership is valid. After a freeze, no timer has run yet. */
  | { readonly type: "check" }
  /** `dueMs`: the instant for which the timer was set. It may lie in the past after a freeze. @defaultValue now */
  | { readonly type: "tick"; readonly dueMs?: number }
  | { readonly type: "checkpoint" }
  | { readonly type: "renew-requested" }
  /** The store pushes that the lease may be gone. */
  | { readonly type: "woken" }
  /** `isExtra`: a publication sent this renewal before itself. It is not the renewal under way. */
  | { readonly type: "renewed"; readonly outcome: RenewOutcome; readonly isExtra?: true }
  | { readonly type: "renewal-failed"; readonly error: unknown }
  /** The renewal under way was not sent when its turn came, because `mayRenew` was false. */
  | { readonly type: "renewal-skipped" }
  | { readonly type: "published"; readonly outcome: RenewOutcome }
  /** A caller ends the term. `stops`: the elector itself is to stop. */
  | { readonly type: "end"; readonly reason: Error; readonly stops?: true }
  | { readonly type: "completing" }
  | { readonly type: "completed" }
  | { readonly type: "work-settled"; readonly isFailed: boolean };

export type TermEffect =
  /** `isSilent`: the task has settled, so nothing is announced. */
  | { readonly type: "abort"; readonly reason: Error; readonly isSilent: boolean }
  /** Send a renewal once the requests before it have settled, if `mayRenew` is true then. */
  | { readonly type: "renew" }
  | { readonly type: "announce-renewed" }
  | { readonly type: "announce-renew-failed"; readonly error: unknown }
  | { readonly type: "announce-overrun"; readonly sinceSignalMs: number }
  /** The leadership was lost while the process did not run. */
  | { readonly type: "announce-blocked"; readonly forMs: number }
  /** A stop waits no longer for the task. */
  | { readonly type: "give-up-waiting"; readonly waitedMs: number }
  | { readonly type: "release"; readonly endReason: Error | undefined; readonly holdMs: number }
  | { readonly type: "finish"; readonly endReason: Error | undefined; readonly isReleased: boolean };

/** The next state of a term, and what its driver does then, in this order. */
export interface TermStep {
  readonly term: TermState;
  readonly effects: readonly TermEffect[];
}
