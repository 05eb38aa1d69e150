import type { Acquisitions } from "./acquisitions.ts";
import type { ContenderName } from "./contenders.ts";
import type { CrewReport } from "./episodes.ts";

/** One run of all measurements, as `measured.json` stores it. */
export interface Measured {
  /** The date, such as `2026-11-23`. */
  readonly date: string;
  readonly tookS: number;
  readonly machine: Machine;
  /** The versions of packages and services, by name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly contenders: Readonly<Partial<Record<ContenderName, Report>>>;
}

export interface Machine {
  readonly processor: string;
  readonly processors: number;
  readonly memoryGb: number;
  readonly node: string;
  /** The load average of the last minute at the beginning of the run, and after all faults. */
  readonly load: { readonly before: number; readonly after: number };
}

/** The results of one library on one service. */
export interface Report {
  readonly acquisitions: Acquisitions;
  readonly crews: readonly CrewReport[];
}

/** The same lease for all libraries, because Azure has no shorter one. */
export const LEASE_MS = 15_000;
