import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Gate, type Step } from "./gate.ts";
import { usesRealTime } from "./real-time.ts";

/** A replacement for Vitest. It writes the next of the prepared reports, and exits with 1 if the report has a failure. */
const FAKE_VITEST = `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
const file = process.env.LEASEHOLD_GATE_REPORT;
appendFileSync("runs.txt", process.argv.slice(2).filter((arg) => !arg.startsWith("--reporter")).join(" ") + "\\n");
const [report, ...rest] = JSON.parse(readFileSync("reports.json", "utf8"));
writeFileSync("reports.json", JSON.stringify(rest));
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, JSON.stringify(report));
process.exitCode = report.failures.length > 0 ? 1 : 0;
`;
const TESTS: readonly Step[] = [{ tests: "test" }];

let root: string;
let printed: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gate-"));
  onTestFinished(async () => await rm(root, { recursive: true }));
  await writeFile(join(root, "package.json"), JSON.stringify({ scripts: { test: "node fake-vitest.mjs" } }));
  await writeFile(join(root, "fake-vitest.mjs"), FAKE_VITEST);
  await writeFile(join(root, "timers.ts"), `import { setTimeout as delay } from "node:timers/promises";`);
  await writeFile(join(root, "real.test.ts"), `import "./timers.ts";\nimport { delay } from "./timers.ts";`);
  await writeFile(join(root, "virtual.test.ts"), `import { VirtualClock } from "@leasehold/core/testing";`);
  printed = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => printed.push(String(text)) > 0);
  onTestFinished(() => write.mockRestore());
});

/** Returns the report of a run in which ten tests pass and the given ones fail. */
function reportOf(...failed: ReadonlyArray<readonly [file: string, name?: string]>): object {
  const failures = failed.map(([file, name]) => ({ file: join(root, file), name, message: "expected 1" }));
  return { passed: 10, skipped: 0, failures };
}

/** Runs the steps, with one prepared report for each run of Vitest. Returns the last lines of the gate's output, and the runs. */
async function gateOf(steps: readonly Step[], ...reports: readonly object[]) {
  await writeFile(join(root, "reports.json"), JSON.stringify(reports));
  const gate = new Gate(root);
  await gate.run(steps);
  gate.printEnd();
  const runs = await readFile(join(root, "runs.txt"), "utf8").catch(() => "");
  const lines = printed.join("").trim().split("\n");
  return { closing: lines.at(-1), lines, runs: runs.split("\n").slice(0, -1) };
}

test("counts the tests and the commands that pass", async () => {
  const { closing } = await gateOf([{ command: "true" }, ...TESTS], reportOf());
  expect(closing).toBe("11 passed, 0 failed");
});

test("ends at the first command that fails", async () => {
  const { closing, runs } = await gateOf([{ command: "exit 3" }, ...TESTS], reportOf());
  expect([closing, runs]).toEqual(["0 passed, 1 failed", []]);
});

describe("with Vitest itself", () => {
  beforeEach(async () => {
    const vitest = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url));
    await writeFile(join(root, "package.json"), JSON.stringify({ scripts: { test: "node quiet-vitest.mjs" } }));
    // This output would look like failures of the present run.
    await writeFile(
      join(root, "quiet-vitest.mjs"),
      `import { spawnSync } from "node:child_process";
const args = [${JSON.stringify(vitest)}, "run", "--globals", "--root", ".", ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, args, { stdio: "ignore" }).status;
`,
    );
    await rm(join(root, "virtual.test.ts"));
  });

  test("selects a failed test by the titles of its suites", async () => {
    await writeFile(
      join(root, "real.test.ts"),
      `import "./timers.ts";
import { appendFileSync, readFileSync } from "node:fs";
describe("a suite (of two)", () => {
  test.for([{ what: "a title that Vitest shortens, since it is long" }])("$what", () => {
    appendFileSync("runs.txt", "run\\n");
    expect(readFileSync("runs.txt", "utf8")).toBe("run\\nrun\\n");
  });
  test("passes", () => {});
});
`,
    );
    const { closing, lines } = await gateOf(TESTS);
    expect(closing).toBe("2 passed, 0 failed");
    expect(lines.find((line) => line.startsWith("unsteady:"))).toContain("a suite (of two) > a title that Vitest shortens");
  });

  test("names errors outside of any test, files that do not load, and setups that fail", async () => {
    const throwing = 'throw new Error("nobody waits")';
    const files = {
      "unhandled.test.ts": `test("passes", async () => void Promise.reject(new Error("nobody waits")));`,
      "unloaded.test.ts": `test("passes", () => {});\n${throwing};`,
      "unprepared.test.ts": `beforeAll(() => { ${throwing}; });\ntest("passes", () => {});`,
      "real.test.ts": `test("passes too", () => {});`,
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
    const { closing, lines } = await gateOf(TESTS);
    expect(closing).toBe("2 passed, 3 failed");
    const failed = lines.filter((line) => line.startsWith("== FAILED:")).toSorted();
    expect(failed).toEqual(["unhandled", "unloaded", "unprepared"].map((name) => `== FAILED: ${name}.test.ts: the file`));
    expect(lines.filter((line) => line.includes("nobody waits"))).toHaveLength(3);
  });
});

test("runs a failed test of real time once more, alone, after all steps, and reports it as unsteady if it passes", async () => {
  const { closing, lines, runs } = await gateOf(
    [...TESTS, { command: "echo last step >> runs.txt" }],
    reportOf(["real.test.ts", "waits (seed 42)"]),
    reportOf(),
  );
  expect(runs).toEqual(["", "last step", String.raw`real.test.ts --testNamePattern ^waits \(seed \d+\)$ --maxWorkers=1`]);
  expect(lines).toContain("unsteady: real.test.ts: waits (seed 42)");
  expect(closing).toBe("12 passed, 0 failed");
});

test("fails if a test of real time fails twice", async () => {
  const failed = reportOf(["real.test.ts", "waits"]);
  const { closing } = await gateOf(TESTS, failed, failed);
  expect(closing).toBe("10 passed, 1 failed");
});

test("runs a whole file once more if it failed outside of its tests", async () => {
  const { closing, runs } = await gateOf(TESTS, reportOf(["real.test.ts"]), reportOf());
  expect(runs.at(-1)).toBe("real.test.ts --maxWorkers=1");
  expect(closing).toBe("11 passed, 0 failed");
});

test("never runs a test of virtual time twice", async () => {
  const { closing, runs } = await gateOf(TESTS, reportOf(["virtual.test.ts", "counts"]), reportOf());
  expect([closing, runs]).toEqual(["10 passed, 1 failed", [""]]);
});

test("runs no test twice if more than ten tests have failed", async () => {
  const failed = Array.from({ length: 11 }, (_, at) => ["real.test.ts", `${at}`] as const);
  const { closing, runs } = await gateOf(TESTS, reportOf(...failed), reportOf());
  expect([closing, runs]).toEqual(["10 passed, 11 failed", [""]]);
});

test.each([
  ["skips a test", { passed: 10, skipped: 1, failures: [] }, "10 passed, 1 failed"],
  ["passes no test", { passed: 0, skipped: 0, failures: [] }, "0 passed, 1 failed"],
])("fails where Vitest %s", async (_, report, expected) => {
  expect((await gateOf(TESTS, report)).closing).toBe(expected);
});

test("fails if Vitest writes no report", async () => {
  await writeFile(join(root, "fake-vitest.mjs"), "");
  expect((await gateOf(TESTS)).closing).toBe("0 passed, 1 failed");
});

describe("a test uses real time", () => {
  test.each([
    ["real.test.ts", true],
    ["virtual.test.ts", false],
  ])("%s: %s", (file, expected) => {
    expect(usesRealTime(join(root, file), root)).toBe(expected);
  });

  test("if a module of the test kit uses it", async () => {
    const file = join(root, "kit.test.ts");
    await writeFile(file, `import { startEtcd } from "@leasehold/test-kit/backends/etcd";`);
    expect(usesRealTime(file, join(import.meta.dirname, "../../.."))).toBe(true);
  });
});
