import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

/** One delivery of one tick, as a platform makes it: to one worker, which runs the wrapped handler for it. */
export interface Delivery {
  /** Names the delivery in everything that is said of it; also its candidateId. */
  readonly id: string;
  /** Of which of the worker's wrapped handlers it is. */
  readonly election: string;
  /** When its tick was due, in milliseconds since 1970. */
  readonly scheduledMs: number;
  /** How long its handler works, in how many pieces. After each of them it calls `checkpoint()`. */
  readonly workMs: number;
  readonly pieces: number;
  /** Its handler throws when it has worked. */
  readonly fails: boolean;
  /** Where its process kills itself, in the very turn of its event loop in which that is known. */
  readonly diesOnce?: SelfDeath | undefined;
}

/** The lease is acquired, and its handler has not started; or it is released (completed), and nobody has been told. */
export type SelfDeath = "acquired" | "released";

/** The options of a handler that a worker wraps, as far as they are data. */
export type GateSettings = { readonly election: string; readonly leaseDurationMs: number; readonly remainingMs: number } & (
  | { readonly gate: "oncePerTick" }
  | { readonly gate: "exclusive"; readonly minimumHoldMs?: number }
  | { readonly gate: "sticky"; readonly group: string; readonly periodMs: number; readonly missedTicks: number }
);

/** The settings of a worker at its start. */
export interface WorkerSettings {
  readonly store: StoreSettings;
  readonly gates: readonly GateSettings[];
}

/** `turned-away`: another led, and so its platform is asked to deliver again; `standby`: it is not. */
export type Outcome = "ran" | "standby" | "turned-away" | "failed";

/** What a worker says of its deliveries, in the order in which it happens to it. */
export type WorkerEvent =
  /** It takes deliveries. */
  | { readonly event: "ready" }
  /** The store has confirmed an acquisition, which was sent at `grantedMs`. */
  | { readonly event: "acquired"; readonly delivery: string; readonly term: number; readonly grantedMs: number }
  /** The handler has been called, in a leadership that is valid until then. */
  | { readonly event: "started"; readonly delivery: string; readonly term: number; readonly validUntilMs: number }
  | { readonly event: "renewed"; readonly delivery: string; readonly validUntilMs: number }
  /** The handler has returned or thrown: it acts no more. */
  | { readonly event: "returned"; readonly delivery: string }
  /** The store has answered a release: `ok` where it was ours to release. */
  | { readonly event: "released"; readonly delivery: string; readonly ok: boolean }
  /** The wrapped handler has returned. */
  | { readonly event: "settled"; readonly delivery: string; readonly outcome: Outcome; readonly error?: string }
  /** A write failed, or its reply is missing: it may have been carried out. `election` as the store knows it. */
  | { readonly event: "writeFailed"; readonly election: string; readonly outcome: string };

/** Every time is by the host's clock, see `hostMs`. */
export type WorkerLine = { readonly atMs: number } & WorkerEvent;

/** The name of the one schedule whose occurrences these are. */
export const SCHEDULE = "storm";

/** What an occurrence of it is called in a store. */
export function occurrenceId(scheduledMs: number): string {
  return `${SCHEDULE}@${new Date(scheduledMs).toISOString()}`;
}
