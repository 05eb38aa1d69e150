import { publisher } from "../reporting/diagnostics.ts";
import type { NotRun } from "./overlap.ts";

/**
 * The `node:diagnostics_channel` on which each end of a claimed occurrence is published, as {@link PublishedOccurrence}. So is each
 * occurrence that this host has missed.
 */
export const OCCURRENCE_CHANNEL = "leasehold:occurrence";

/** An occurrence whose claim has ended on this host, or that this host has missed. */
export interface PublishedOccurrence {
  /** The name of the schedule, or of the work of a key. */
  readonly name: string;
  /** The occurrence's name in the store. */
  readonly occurrence: string;
  /**
   * - `done`: the store has recorded that its task has returned.
   * - `failed`: the store has recorded that its last try has failed.
   * - `open`: its task threw or had to stop, or its end could not be recorded. The next delivery does it.
   * - `missed`: it was too late to begin it. Each host that misses it publishes that.
   * - `overlap`, `cancelled`, `paused`: see {@link NotRun}.
   */
  readonly outcome: "done" | "failed" | "open" | NotRun;
  /** The number of the attempt; absent if this host has claimed nothing. */
  readonly attempt?: number | undefined;
  /**
   * The time from when it was due until its task began, by this host's wall clock, in milliseconds. Negative if that clock is behind.
   * Absent if no task began, or if it is due at no time.
   */
  readonly lateMs?: number | undefined;
}

/** Publishes the end of an occurrence, if the channel has a subscriber. */
export const publishOccurrence: (make: () => PublishedOccurrence) => void = publisher(OCCURRENCE_CHANNEL);
