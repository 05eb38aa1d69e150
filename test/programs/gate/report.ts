import { readFileSync } from "node:fs";
import { usesRealTime } from "./real-time.ts";

/** A failed test. Or a file that did not load, or whose setup failed; this has no name. */
export interface Failure {
  /** The absolute path of the file. */
  readonly file: string;
  /** The name for Vitest's name pattern: the titles of its suites and its own, joined by " > ". */
  readonly name?: string | undefined;
  readonly message: string;
  readonly isOfRealTime: boolean;
}

export interface Report {
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
}

/** The parts of the report of Vitest's JSON reporter that are used here. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: ReadonlyArray<{
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: ReadonlyArray<{
      readonly status: string;
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly failureMessages: readonly string[];
    }>;
  }>;
}

/** Reads the report of a run. Undefined if there is none. */
export function readReport(path: string, root: string): Report | undefined {
  let report: VitestReport;
  try {
    report = JSON.parse(readFileSync(path, "utf8")) as VitestReport;
  } catch {
    return undefined;
  }
  const failures = report.testResults.flatMap(({ name: file, status, message, assertionResults }): Failure[] => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length === 0 && status !== "failed") return [];
    const isOfRealTime = usesRealTime(file, root);
    if (failed.length === 0) return [{ file, message, isOfRealTime }];
    return failed.map(({ ancestorTitles, title, failureMessages }) => {
      const name = [...ancestorTitles, title].join(" > ");
      return { file, name, message: failureMessages.join("\n"), isOfRealTime };
    });
  });
  return { passed: report.numPassedTests, skipped: report.numPendingTests + report.numTodoTests, failures };
}
