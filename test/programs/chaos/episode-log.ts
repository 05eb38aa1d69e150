import type { LeaseStoreCapabilities } from "@leasehold/core";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { Line } from "@leasehold/test-kit/candidates/history";
import type { FaultKind } from "./faults.ts";
import type { Run } from "@leasehold/test-kit/candidates/register";

/** Everything that is known of one election and what was done to it: what a checker judges. Times are by the host's clock. */
export interface EpisodeLog {
  readonly store: StoreName;
  readonly seed: number;
  readonly leaseMs: number;
  /** How long the election takes on an idle machine, at most, to have a leader again once all faults are over. */
  readonly leaderBackMs: number;
  readonly fence: LeaseStoreCapabilities["fence"];
  /** One for each process there was. */
  readonly workers: readonly WorkerLog[];
  readonly injected: readonly Injected[];
  /** When all faults of a round were over, round by round. */
  readonly healedMs: readonly number[];
  /** The stores, of several, that were not written anew once they were back and somebody led, with what had befallen them. */
  readonly unhealed: readonly string[];
  /** The register's entries in the end. */
  readonly register: readonly Run[];
  /** When the last worker was told to end. */
  readonly endedMs: number;
}

export interface WorkerLog {
  /** No two processes have the same name. */
  readonly worker: string;
  readonly lines: readonly Line[];
  /** Its stderr. */
  readonly stderr: string;
}

/** A fault that there was. */
export interface Injected {
  readonly kind: FaultKind;
  /** Whom it met: a worker, or one of several stores; undefined if it met the store as a whole. */
  readonly worker: string | undefined;
  /** Since when it was in force: a process that is killed or frozen has not run since then. */
  readonly fromMs: number;
  /** Undefined if it lasted to the end. */
  readonly toMs: number | undefined;
}
