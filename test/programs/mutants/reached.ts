/** What a worker of Vitest begins with: tells which blocks each test enters, and ends where they are entered without end. */
import { appendFileSync } from "node:fs";
import { afterAll, beforeEach, inject, onTestFinished } from "vitest";
import { REACH } from "./blocks.ts";
import type { Reached } from "./reach.ts";

const { report, mostEntries } = inject("mutants");
/** What each test that is under way has entered. */
const underWay = new Map<string, Set<number>>();
const byTest = new Map<string, Set<number>>();
/** What was entered while no test was under way, so that it may be for any of them. */
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
