import { conformance, type CaseResult, type Subject } from "@leasehold/conformance";
import { afterAll, describe, it } from "vitest";
import { keepResults } from "./table.ts";

/** Registers the suite for one store in Vitest, and keeps its results for the table. */
export function runConformance(subject: Subject): void {
  const results: CaseResult[] = [];
  conformance({ describe, it }, subject, (result) => results.push(result));
  afterAll(async () => keepResults(subject.name, results));
}
