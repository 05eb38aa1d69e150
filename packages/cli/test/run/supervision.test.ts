/** One term of a command, whose leadership a test makes up. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LeadershipEndedError, systemClock, type Leadership } from "@leasehold/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { supervise } from "../../src/run/supervision.ts";
import { StopSignals } from "../../src/run/stop-signals.ts";
import type { TermOutcome } from "../../src/run/term-outcome.ts";

const TIMING = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, validForMs: 13_500, graceMs: 8_000 };
const LOST = new LeadershipEndedError("e", 1, "resigned", "a test.");

let folder: string;
let terms = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasehold-supervision-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function termOf(leadership: Partial<Leadership>, tell: (line: string) => void = () => {}): Promise<TermOutcome> {
  using signals = new StopSignals();
  return await supervise({
    leadership: {
      election: "e",
      term: 1,
      termId: `a-term-of-supervision-test-${process.pid}-${(terms += 1)}`,
      signal: new AbortController().signal,
      ended: new Promise<never>(() => {}),
      isValid: () => true,
      remainingMs: () => 13_500,
      checkpoint: () => {},
      ...leadership,
    } as Leadership,
    timing: TIMING,
    program: { path: "/bin/sh", command: ["sh", "-c", "echo started > $0/started", folder], env: process.env },
    lossSignal: "SIGTERM",
    signals,
    clock: systemClock,
    onRenewed: () => () => {},
    resign: () => tell("resigned"),
    tell,
  });
}

function started(): string {
  const path = join(folder, "started");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

test("starts the command of a term that is valid, and ends with it", async () => {
  const said: string[] = [];
  expect(await termOf({}, (line) => said.push(line))).toEqual({ exit: { code: 0 }, ended: undefined, overran: false });
  expect(started()).toBe("started\n");
  expect(said).toEqual([]);
});

test("a term that ran out while this process was paused has ended, though the command's exit is seen before any timer", async () => {
  const ending = new AbortController();
  const isValid = (): boolean => {
    if (started() !== "") ending.abort(LOST);
    return !ending.signal.aborted;
  };
  const outcome = await termOf({ signal: ending.signal, isValid });
  expect(outcome).toEqual({ exit: { code: 0 }, ended: LOST, overran: false });
});

test("starts nothing in a term that is over by the time that its guard is up, or ending", async () => {
  const ending = new AbortController();
  ending.abort(LOST);
  const { signal } = ending;
  for (const leadership of [{ signal, isValid: () => false }, { signal }]) {
    expect(await termOf(leadership)).toEqual({ exit: undefined, ended: LOST, overran: false });
    expect(started()).toBe("");
  }
});
