import type { Acquisitions } from "./acquisitions.ts";
import type { ContenderName } from "./contenders.ts";
import type { Crowd } from "./crowds.ts";
import type { CrewReport } from "./episodes.ts";

/** One run of all that is measured, as `measured.json` keeps it. */
export interface Measured {
  /** `2026-11-23` */
  readonly date: string;
  readonly tookS: number;
  readonly machine: Machine;
  /** Of packages and services, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  readonly contenders: Readonly<Partial<Record<ContenderName, Report>>>;
}

export interface Machine {
  readonly processor: string;
  readonly processors: number;
  readonly memoryGb: number;
  readonly node: string;
  /** The load average of the last minute when the run began, and when all faults had been played. */
  readonly load: { readonly before: number; readonly after: number };
}

/** What was measured of one library on one service. */
export interface Report {
  readonly acquisitions: Acquisitions;
  readonly crews: readonly CrewReport[];
  readonly crowd: Crowd;
}

/** The same for all: Azure has no shorter one. */
export const LEASE_MS = 15_000;
