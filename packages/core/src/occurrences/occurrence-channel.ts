import { publisher } from "../reporting/diagnostics.ts";
import type { NotRun } from "../store/lease-snapshot.ts";

/** The `node:diagnostics_channel` of each end of a claimed occurrence, and of each missed one: {@link PublishedOccurrence}. */
export const OCCURRENCE_CHANNEL = "leasehold:occurrence";

/** An occurrence whose claim has ended on this host, or that this host has missed. */
export interface PublishedOccurrence {
  /** The name of the schedule, or of the work of a key. */
  readonly name: string;
  readonly occurrence: string;
  /**
   * - `done`: the store has recorded that its task has returned.
   * - `failed`: the store has recorded that its last try has failed.
   * - `open`: its task threw or had to stop, or its end could not be recorded. The next delivery does it.
   * - `missed`: it was too late to begin it. Each host that misses it publishes that.
   * - `overlap`, `cancelled`, `paused`: see {@link NotRun}.
   */
  readonly outcome: "done" | "failed" | "open" | NotRun;
  readonly attempt?: number | undefined;
  /** Milliseconds from when it was due until its task began, by this host's wall clock; may be negative. Absent if none began. */
  readonly lateMs?: number | undefined;
}

export const publishOccurrence: (make: () => PublishedOccurrence) => void = publisher(OCCURRENCE_CHANNEL);
