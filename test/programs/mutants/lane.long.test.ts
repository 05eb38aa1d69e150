import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { Lane, type Baseline, type Fate } from "./lane.ts";
import { readSources, ROOT, type SourceFile } from "./sources.ts";

const FILE = "packages/functions/src/gate.ts";
const WHETHER_ELECTED = "if (outcome.elected) {";

let lane: Lane;
let source: SourceFile;
let testFile: string;
let baseline: Baseline;

beforeAll(async () => {
  const files = await readSources("functions");
  source = files.find(({ path }) => path === FILE)!;
  lane = await Lane.open("functions", files);
  testFile = (await lane.testFiles()).find((path) => path.endsWith("/exclusive.test.ts"))!;
  baseline = (await lane.baselines([testFile])).get(testFile)!;
});

afterAll(async () => {
  await lane[Symbol.asyncDispose]();
});

/** Runs the tests with another text in place of {@link WHETHER_ELECTED}. */
async function judge(text: string, names?: readonly string[]): Promise<Fate> {
  const start = source.source.indexOf(WHETHER_ELECTED);
  const end = start + WHETHER_ELECTED.length;
  return await lane.judge({ ...source.mutants[0]!, start, end, text }, [{ testFile, names, baseline }]);
}

test("a change is killed by the tests that fail with it, whatever was killed before", async () => {
  await expect(judge(WHETHER_ELECTED)).resolves.toBe("survived");
  await expect(judge("if (!outcome.elected) {")).resolves.toBe("killed");
  await expect(judge(WHETHER_ELECTED)).resolves.toBe("survived");
});

test("only the tests that were chosen are run", async () => {
  const named = (part: string): string => baseline.byTest.find(([name]) => name.includes(part))![0];
  const thrown = 'throw new Error("reached"); {';

  await expect(judge(thrown, [named("skips where another invocation runs")])).resolves.toBe("killed");
  await expect(judge(thrown, [named("an onStandby that is no function")])).resolves.toBe("survived");
});

test.for<[what: string, text: string, fate: Fate]>([
  ["a loop without an end", "for (;;) {}", "killed"],
  ["a loop that awaits what is there already", "for (;;) { await null; }", "killed"],
  ["a wait without an end", "await new Promise(() => {});", "timed out"],
])("%s ends", async ([, loop, fate]) => {
  await expect(judge(`${loop} ${WHETHER_ELECTED}`)).resolves.toBe(fate);
  await expect(judge(WHETHER_ELECTED)).resolves.toBe("survived");
});

test("a process that a test starts runs the changed source", async () => {
  const files = await readSources("cli");
  await using cli = await Lane.open("cli", files);
  const child = files.find(({ path }) => path === "packages/cli/src/run/child.ts")!;
  const wrapperTest = (await cli.testFiles()).find((path) => path.endsWith("/run/run.test.ts"))!;
  const reached = (await cli.baselines([wrapperTest])).get(wrapperTest)!;
  const wrongExitCode = child.mutants.find(({ to }) => to.includes("code: (exitCodeOfSignal(signal))"))!;

  expect(reached.always).toContain(child.base + wrongExitCode.block);
  await expect(cli.judge(wrongExitCode, [{ testFile: wrapperTest, baseline: reached }])).resolves.toBe("killed");
});

test.for<[what: string, body: string, told: string]>([
  ["that skips all of its tests", 'test.skip("needs a server", () => undefined);', "skips all of its tests: .ci/backends"],
  [
    "with a test that fails",
    'test("adds", () => { throw new Error("1 + 1 is 3\\nhere"); });',
    "fails without any mutant: adds: 1 + 1 is 3",
  ],
  ["that cannot be loaded", 'throw new Error("no server");', "fails without any mutant: no server"],
])("a file %s is named in one line", async ([, body, told]) => {
  const cache = join(ROOT, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const directory = await mkdtemp(join(cache, "lane-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "unfit.test.ts");
  await writeFile(file, `import { test } from "vitest";\n${body}\n`);

  const { message } = await failureOf(lane.baselines([file]));
  expect(message.startsWith(`${file} ${told}`), message).toBe(true);
  expect(message).not.toContain("\n");
});
