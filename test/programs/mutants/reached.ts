/** Each test file begins with this: it tells which blocks each test enters, and ends where they are entered without end. */
import { appendFileSync } from "node:fs";
import { afterAll, beforeEach, expect, inject, onTestFinished, vi } from "vitest";
import { REACH } from "./blocks.ts";
import type { Reached, TestLimits } from "./reach.ts";

const { report, limits } = inject("mutants");
const { testPath = "" } = expect.getState();
const { timeoutMs, mostEntries = Infinity }: Partial<TestLimits> = limits[testPath] ?? {};
if (timeoutMs !== undefined) vi.setConfig({ testTimeout: timeoutMs });
/** The blocks that each test under way has entered. */
const underWay = new Map<string, Set<number>>();
const byTest = new Map<string, Set<number>>();
/** The blocks that were entered while no test was under way: they may be for any of them. */
const always = new Set<number>();
let entries = 0;

Object.assign(globalThis, {
  [REACH]: (block: number) => {
    entries += 1;
    // Nothing else ends a loop that never awaits anything but what is there already.
    if (entries > mostEntries) process.kill(process.pid, "SIGKILL");
    if (underWay.size === 0) always.add(block);
    for (const blocks of underWay.values()) blocks.add(block);
  },
});

if (report !== undefined) {
  beforeEach(({ task }) => {
    const blocks = new Set<number>();
    byTest.set(task.fullTestName, blocks);
    underWay.set(task.id, blocks);
    onTestFinished(() => void underWay.delete(task.id));
  });
  afterAll(() => {
    const reached: Reached = { entries, always: [...always], byTest: [...byTest].map(([name, blocks]) => [name, [...blocks]]) };
    appendFileSync(report, JSON.stringify(reached));
  });
}
