import type { LeaseStoreCapabilities } from "@leasehold/core";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { Line } from "@leasehold/test-kit/candidates/history";
import type { FaultKind } from "./faults.ts";
import type { Run } from "@leasehold/test-kit/candidates/register";

/** The data of one election and its faults, which a checker judges. Times are by the host's clock. */
export interface EpisodeLog {
  readonly store: StoreName;
  readonly seed: number;
  readonly leaseMs: number;
  /** How long the election takes at most, on an idle machine, to have a leader again once all faults are over. */
  readonly leaderBackMs: number;
  readonly fence: LeaseStoreCapabilities["fence"];
  /** One log for each process. */
  readonly workers: readonly WorkerLog[];
  readonly injected: readonly Injected[];
  /** When all faults of a round were over, for each round. */
  readonly healedMs: readonly number[];
  /** The stores that were not written again after they were back and there was a leader, with their faults. */
  readonly unhealed: readonly string[];
  /** The entries of the register at the end. */
  readonly register: readonly Run[];
  /** When the last worker was told to end. */
  readonly endedMs: number;
}

export interface WorkerLog {
  /** The name of the process, which no other process has. */
  readonly worker: string;
  readonly lines: readonly Line[];
  /** Its stderr. */
  readonly stderr: string;
}

/** A fault that happened. */
export interface Injected {
  readonly kind: FaultKind;
  /** The worker or the store that it hit, of several; undefined if it hit the whole store. */
  readonly worker: string | undefined;
  /** When it began. A process that is killed or frozen has not run since then. */
  readonly fromMs: number;
  /** When it ended; undefined if it lasted to the end. */
  readonly toMs: number | undefined;
}
