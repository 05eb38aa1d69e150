import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

/** One delivery of one tick, as a platform makes it: to one worker, which runs the wrapped handler for it. */
export interface Delivery {
  /** The delivery's name in all reports, and its candidateId. */
  readonly id: string;
  /** The time at which its tick was due, in milliseconds since 1970. */
  readonly scheduledMs: number;
  /** The duration of its handler's work, and the number of its pieces. After each piece it calls `checkpoint()`. */
  readonly workMs: number;
  readonly pieces: number;
  /** True if its handler throws after its work. */
  readonly fails: boolean;
  /** The moment at which its process kills itself, in the same turn of its event loop. */
  readonly diesOnce?: SelfDeath | undefined;
}

/**
 * `acquired`: the lease is acquired, and its handler has not started. `released`: it is released (completed), but not yet
 * reported.
 */
export type SelfDeath = "acquired" | "released";

/** The settings of a worker at its start. */
export interface WorkerSettings {
  readonly store: StoreSettings;
  readonly election: string;
  readonly leaseDurationMs: number;
  /** The time that the platform gives a delivery. */
  readonly remainingMs: number;
}

/** `turned-away`: another led, so the platform has to deliver again. `standby`: the platform need not. */
export type Outcome = "ran" | "standby" | "turned-away" | "failed";

/** A worker's reports of its deliveries, in the order of the events. */
export type WorkerEvent =
  /** The worker takes deliveries. */
  | { readonly event: "ready" }
  /** The store has confirmed an acquisition, which was sent at `grantedMs`. */
  | { readonly event: "acquired"; readonly delivery: string; readonly term: number; readonly grantedMs: number }
  /** The handler has been called, in a leadership that is valid until `validUntilMs`. */
  | { readonly event: "started"; readonly delivery: string; readonly term: number; readonly validUntilMs: number }
  | { readonly event: "renewed"; readonly delivery: string; readonly validUntilMs: number }
  /** The handler has returned or thrown. It does nothing more. */
  | { readonly event: "returned"; readonly delivery: string }
  /** The store has answered a release. `ok` if the lease was this delivery's. */
  | { readonly event: "released"; readonly delivery: string; readonly ok: boolean }
  /** The wrapped handler has returned. */
  | { readonly event: "settled"; readonly delivery: string; readonly outcome: Outcome; readonly error?: string }
  /** A write failed, or its reply is missing: it may have been carried out. `election` is the store's name for it. */
  | { readonly event: "writeFailed"; readonly election: string; readonly outcome: string };

/** Every time is by the host's clock, see `hostMs`. */
export type WorkerLine = { readonly atMs: number } & WorkerEvent;

/** The name of the only schedule of these occurrences. */
export const SCHEDULE = "storm";

/** Returns the name of an occurrence in a store. */
export function occurrenceId(scheduledMs: number): string {
  return `${SCHEDULE}@${new Date(scheduledMs).toISOString()}`;
}
