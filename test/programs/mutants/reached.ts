/**
 * Each test file begins with this. It records which blocks each test enters, and kills the process if blocks are entered without
 * an end.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, vi } from "vitest";
import { preloadInChildren, reportingTo } from "./children.ts";
import { BLOCKS_OF_A_FILE, REACH, type Reached, type TestLimits } from "./reach.ts";

const LOADED = Symbol.for("leasehold.mutants.loaded");
const { reports, limits, preload } = inject("mutants");
const { testPath = "" } = expect.getState();
const report = reports[testPath];
preloadInChildren(report === undefined ? preload : reportingTo(report.byChildren, preload));
const { timeoutMs, mostEntries = Infinity }: Partial<TestLimits> = limits[testPath] ?? {};
if (timeoutMs !== undefined) vi.setConfig({ testTimeout: timeoutMs });
/** The blocks that each running test has entered. */
const underWay = new Map<string, Set<number>>();
const byTest = new Map<string, Set<number>>();
/** The blocks that earlier files have loaded in this process. They are not loaded again. */
const shared = globalThis as { [LOADED]?: Set<number> };
shared[LOADED] ??= new Set();
const loaded = shared[LOADED];
/** The blocks that were entered while no test was running. They may belong to any test. */
const always = new Set<number>(loaded);
let isLoading = true;
let entries = 0;

Object.assign(globalThis, {
  [REACH]: (block: number) => {
    entries += 1;
    // Nothing else ends a loop that only awaits resolved promises.
    if (entries > mostEntries) process.kill(process.pid, "SIGKILL");
    // A file that one test loads is also loaded for the next test.
    if (underWay.size === 0 || block % BLOCKS_OF_A_FILE === 0) always.add(block);
    if (isLoading || block % BLOCKS_OF_A_FILE === 0) loaded.add(block);
    for (const blocks of underWay.values()) blocks.add(block);
  },
});

if (report !== undefined) {
  beforeAll(() => {
    isLoading = false;
  });
  beforeEach(({ task }) => {
    const blocks = new Set<number>();
    byTest.set(task.fullTestName, blocks);
    underWay.set(task.id, blocks);
    onTestFinished(() => void underWay.delete(task.id));
  });
  afterAll(() => {
    // Tests may run at the same time, so the test of a process is not known.
    const byChildren = existsSync(report.byChildren)
      ? readFileSync(report.byChildren, "utf8").trim().split("\n").map(Number)
      : [];
    const reached: Reached = {
      entries,
      always: [...new Set([...always, ...byChildren])],
      byTest: [...byTest].map(([name, blocks]) => [name, [...blocks]]),
    };
    writeFileSync(report.byTests, JSON.stringify(reached));
  });
}
