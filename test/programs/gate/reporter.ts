import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { env } from "node:process";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";
import type { RunReport } from "./report.ts";

/**
 * Vitest's reporter for the gate. Writes a {@link RunReport} to the file named by `LEASEHOLD_GATE_REPORT`. Vitest's JSON report lacks
 * the errors that came outside of any test.
 */
// oxlint-disable-next-line import/no-default-export -- Vitest takes a reporter's default export
export default class GateReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const outsideOfTests = new Map(
      modules.map((module) => [module, [module, ...module.children.allSuites()].flatMap((part) => part.errors())]),
    );
    const report: RunReport = {
      passed: tests.filter((test) => test.result().state === "passed").length,
      // A setup that fails skips the tests of its file. The failure counts, and not they.
      skipped: tests.filter((test) => test.result().state === "skipped" && outsideOfTests.get(test.module)?.length === 0).length,
      failures: [
        ...tests.flatMap((test) => {
          const { state, errors } = test.result();
          return state === "failed" ? [{ file: test.module.moduleId, name: test.fullName, message: textOf(errors) }] : [];
        }),
        ...[...outsideOfTests].flatMap(([{ moduleId: file }, found]) =>
          found.length > 0 ? [{ file, message: textOf(found) }] : [],
        ),
        ...unhandled.map((error) => {
          const file = error["VITEST_TEST_PATH"];
          return { file: typeof file === "string" ? file : undefined, message: `outside of any test: ${textOf([error])}` };
        }),
      ],
    };
    const path = env["LEASEHOLD_GATE_REPORT"]!;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(report));
  }
}

function textOf(errors: readonly SerializedError[] | undefined): string {
  return (errors ?? []).map(({ message, stack }) => stack ?? message).join("\n");
}
