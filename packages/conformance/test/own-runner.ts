import { conformance, type CaseResult, type StoreUnderTest } from "@leasehold/conformance";

/** Runs the suite without any test runner, all cases at once, and returns their results. */
export async function runAlone(subject: StoreUnderTest): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  const bodies: Array<() => Promise<void>> = [];
  const runner = {
    describe: (_: string, body: () => void) => body(),
    it: (_: string, body: () => Promise<void>) => void bodies.push(body),
  };
  conformance(runner, subject, (result) => results.push(result));
  await Promise.allSettled(bodies.map((body) => body()));
  return results;
}
