import { readFileSync } from "node:fs";
import { usesRealTime } from "./real-time.ts";

/** One run of Vitest, as the reporter writes it. */
export interface RunReport {
  readonly passed: number;
  readonly skipped: number;
  readonly failures: ReadonlyArray<{
    /** The absolute path of the file. Undefined if Vitest cannot say during which file an error came. */
    readonly file?: string | undefined;
    /** The name for Vitest's name pattern. Undefined for a file that failed outside of its tests. */
    readonly name?: string | undefined;
    readonly message: string;
  }>;
}

export type Failure = RunReport["failures"][number] & { readonly isOfRealTime: boolean };

export type Report = Omit<RunReport, "failures"> & { readonly failures: readonly Failure[] };

/** Reads the report of a run. Undefined if there is none. */
export function readReport(path: string, root: string): Report | undefined {
  let report: RunReport;
  try {
    report = JSON.parse(readFileSync(path, "utf8")) as RunReport;
  } catch {
    return undefined;
  }
  const failures = report.failures.map((failure) => ({
    ...failure,
    isOfRealTime: failure.file !== undefined && usesRealTime(failure.file, root),
  }));
  return { ...report, failures };
}
