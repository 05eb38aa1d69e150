import type { Case } from "./case.ts";
import type { CaseResult } from "./case-result.ts";
import { everyCase } from "./cases.ts";
import type { Runner } from "./runner.ts";
import { outageMsOf, Scenario } from "./scenario.ts";
import type { StoreUnderTest } from "./store-under-test.ts";

/**
 * Registers the whole suite for one store: one test for each case that is not skipped, all in one group.
 *
 * @param record receives the result of each case: at once if it is skipped, otherwise when it has run.
 * @throws {Error} if `subject.skips` names an unknown case.
 *
 * @example
 * ```ts
 * import { conformance } from "@leasehold/conformance";
 * import { describe, it } from "vitest";
 *
 * conformance({ describe, it }, subject);
 * ```
 */
export function conformance(runner: Runner, subject: StoreUnderTest, record?: (result: CaseResult) => void): void {
  const unknown = Object.keys(subject.skips ?? {}).filter((id) => everyCase.every((one) => one.id !== id));
  if (unknown.length > 0) throw new Error(`${subject.name} skips unknown cases: ${unknown.join(", ")}. Remove them from skips.`);
  runner.describe(subject.name, () => {
    for (const one of everyCase) {
      const reason = whySkipped(subject, one);
      if (reason === undefined) register(runner, subject, one, record);
      else record?.({ subject: subject.name, id: one.id, outcome: "skipped", reason });
    }
  });
}

function whySkipped(subject: StoreUnderTest, { id, needs = [] }: Case): string | undefined {
  const lacking = needs.map((need) => subject.lacks?.[need]).find((reason) => reason !== undefined);
  return subject.skips?.[id] ?? lacking;
}

function register(runner: Runner, subject: StoreUnderTest, one: Case, record: ((result: CaseResult) => void) | undefined): void {
  const { id, title } = one;
  const body = async (): Promise<void> => {
    try {
      await runCase(subject, one);
      record?.({ subject: subject.name, id, outcome: "passed" });
    } catch (error) {
      record?.({ subject: subject.name, id, outcome: "failed", reason: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  };
  runner.it(`${id}: ${title}`, body, 60_000 + 20 * subject.leaseMs + outageMsOf(subject));
}

async function runCase(subject: StoreUnderTest, one: Case): Promise<void> {
  await using place = await subject.open();
  const scene = new Scenario(subject, place, one.id);
  await one.run(scene);
}
