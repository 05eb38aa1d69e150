import { cases, conformance, type CaseResult, type Subject } from "@leasehold/conformance";
import { afterAll, describe, it } from "vitest";
import { isMissing } from "../backends/missing-backend.ts";
import { keepResults } from "./table.ts";

/** Of the cases of a thousand, where each operation goes to a service or a file; memory goes through them all. */
export const SOME_ROUNDS = 250;

/** How to run the cases of one store. */
export interface RunOptions {
  /** Several cases at a time: where time is real, most of them do nothing but wait for it. @defaultValue false */
  readonly concurrently?: boolean | undefined;
}

/** Registers the suite for one store in Vitest, and keeps its results for the table. */
export function runConformance(subject: Subject, { concurrently = false }: RunOptions = {}): void {
  const results: CaseResult[] = [];
  conformance({ describe, it: concurrently ? it.concurrent : it }, subject, (result) => results.push(result));
  afterAll(async () => keepResults(subject.name, results));
}

/**
 * Registers the suite of a store whose service has to be installed. Where it is missing, each cell of its column says so.
 * @param register calls {@link runConformance}, and what starts the service.
 * @throws if it is missing although LEASEHOLD_ALL_BACKENDS=1 says that everything is there, as in CI.
 */
export async function runConformanceUnless(
  missing: Promise<string | undefined>,
  name: string,
  register: () => void,
): Promise<void> {
  const isHere = !(await isMissing(missing));
  if (isHere) {
    register();
    return;
  }
  const reason = (await missing) ?? "";
  await keepResults(
    name,
    cases.map(({ id }) => ({ subject: name, id, outcome: "skipped", reason })),
  );
  // A file without a single test is an error.
  describe.skipIf(!isHere)(`${name}: ${reason}`, () => {
    it("every case", () => {});
  });
}
