/** The steps of the guard and their times, in virtual time. */
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { GuardTimer } from "../../src/run/guard-timer.ts";
import type { GuardOrder } from "../../src/run/guard-order.ts";
import { after, machineNow } from "../../src/run/machine-clock.ts";

const FAR_MS = 600_000;
const LEADER = { pid: 100, startTicks: 1 };

/** The steps, each with its time: a signal, or `left`. */
let done: Array<readonly [ms: number, what: string]>;
let isGone: boolean;
/** How long `endGroup` takes to find the processes. */
let askingMs: number;
let countdown: GuardTimer;
let startMs: number;

beforeEach(() => {
  vi.useFakeTimers();
  // Its waits take no time in the test.
  vi.stubGlobal("setImmediate", (look: () => void) => look());
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  startMs = machineNow().monotonicMs;
  done = [];
  isGone = false;
  askingMs = 0;
  const note = (what: string): void => void done.push([machineNow().monotonicMs - startMs, what]);
  countdown = new GuardTimer(
    {
      endGroup: (_mark, signal) => {
        note(`asked by ${signal}`);
        vi.advanceTimersByTime(askingMs);
      },
      signalGroup: (_mark, signal) => note(signal),
      isGone: () => isGone,
    },
    () => note("left"),
  );
});

/** Gives an order, whose times count from now. */
function order(inMs: { readonly term: number | null; readonly kill: number }, more: Partial<GuardOrder> = {}): void {
  const now = machineNow();
  countdown.hear({
    seq: 1,
    termId: "t",
    leader: LEADER,
    signal: "SIGINT",
    graceMs: FAR_MS,
    termAt: inMs.term === null ? null : after(now, inMs.term),
    killAt: after(now, inMs.kill),
    ...more,
  });
  countdown.look();
}

/** Returns when the command was killed. */
const kills = (): readonly number[] => done.filter(([, what]) => what === "SIGKILL").map(([ms]) => ms);

test("asks once when `termAt` passes without a newer order, and leaves soon after the last process is gone", () => {
  order({ term: 200, kill: FAR_MS });
  vi.advanceTimersByTime(299);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(500);
  isGone = true;
  vi.advanceTimersByTime(50);
  expect(done).toEqual([
    [300, "asked by SIGINT"],
    [800, "left"],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test("does not ask if the wrapper asks or renews just after a stall of both", () => {
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(399);
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(399);
  order({ term: null, kill: FAR_MS });
  vi.advanceTimersByTime(10_000);
  expect(done).toEqual([]);
});

test("waits for the wrapper for at most a quarter of the time until KILL", () => {
  order({ term: 300, kill: 340 });
  vi.advanceTimersByTime(340);
  expect(done).toEqual([
    [310, "asked by SIGINT"],
    [340, "SIGKILL"],
  ]);
});

test("follows the last order, and drops the timer of earlier orders", () => {
  for (let count = 0; count < 10; count += 1) {
    order({ term: 300, kill: FAR_MS });
    vi.advanceTimersByTime(200);
  }
  expect(done).toEqual([]);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(100);
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(1_000);
  expect(done).toEqual([[2_500, "asked by SIGINT"]]);
});

test("kills at the end of the grace, and kills new processes until none is left", () => {
  order({ term: 0, kill: FAR_MS }, { graceMs: 520 });
  vi.advanceTimersByTime(700);
  expect(kills()).toEqual([620, 670]);
  isGone = true;
  vi.advanceTimersByTime(50);
  expect(done.at(-1)).toEqual([720, "left"]);
});

test("kills at the end of validity, even if grace is left", () => {
  order({ term: 100, kill: 520 });
  vi.advanceTimersByTime(560);
  expect(kills()).toEqual([520]);
});

test("kills a command that the wrapper has asked, does not ask again, and stays until the wrapper ends it", () => {
  isGone = true;
  order({ term: null, kill: 520 });
  vi.advanceTimersByTime(560);
  expect(done).toEqual([[520, "SIGKILL"]]);
});

test("kills at once if `killAt` passes while it asks the command", () => {
  askingMs = 1_000;
  order({ term: 0, kill: 400 });
  vi.advanceTimersByTime(100);
  expect(done).toEqual([
    [100, "asked by SIGINT"],
    [1_100, "SIGKILL"],
  ]);
});

test("counts the grace from the end of its request", () => {
  askingMs = 1_000;
  order({ term: 0, kill: FAR_MS }, { graceMs: 5_000 });
  vi.advanceTimersByTime(100);
  vi.advanceTimersByTime(4_999);
  expect(kills()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(kills()).toEqual([6_100]);
});

test("does not ask if KILL is due at once", () => {
  order({ term: 100, kill: 0 });
  countdown.close();
  vi.advanceTimersByTime(1_000);
  expect(new Set(done.map(([, what]) => what))).toEqual(new Set(["SIGKILL"]));
});

test("does not ask again if the wrapper has asked and ended, and kills in time", () => {
  order({ term: null, kill: 520 });
  countdown.close();
  vi.advanceTimersByTime(519);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual([[520, "SIGKILL"]]);
  isGone = true;
  vi.advanceTimersByTime(50);
  expect(done.at(-1)).toEqual([570, "left"]);
});

test("gives up a process that survives KILL for a minute", () => {
  order({ term: 0, kill: 0 });
  vi.advanceTimersByTime(59_999);
  expect(done).not.toContainEqual([expect.any(Number), "left"]);
  vi.advanceTimersByTime(1);
  expect(done.at(-1)).toEqual([60_000, "left"]);
});

test("asks at once when the wrapper is gone, whatever its order says", () => {
  order({ term: FAR_MS, kill: FAR_MS });
  vi.advanceTimersByTime(100);
  countdown.close();
  vi.advanceTimersByTime(900);
  isGone = true;
  vi.advanceTimersByTime(50);
  expect(done).toEqual([
    [100, "asked by SIGINT"],
    [1_050, "left"],
  ]);
});

test("leaves at once when the wrapper ends without an order, and waits until then", () => {
  countdown.look();
  expect(done).toEqual([]);
  countdown.close();
  expect(done).toEqual([[0, "left"]]);
});

test("waits for a command that may still start, until a second after the wrapper's end", () => {
  isGone = true;
  order({ term: 100, kill: FAR_MS }, { leader: undefined });
  vi.advanceTimersByTime(5_000);
  countdown.close();
  vi.advanceTimersByTime(999);
  expect(done).toEqual([[200, "asked by SIGINT"]]);
  vi.advanceTimersByTime(1);
  expect(done.at(-1)).toEqual([6_000, "left"]);
});

test("reads a jumping wall clock every second, and follows the clock that is first", () => {
  order({ term: FAR_MS, kill: FAR_MS });
  vi.advanceTimersByTime(1);
  vi.setSystemTime(Date.now() + FAR_MS);
  vi.advanceTimersByTime(998);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done.map(([, what]) => what)).toEqual(["SIGKILL"]);
});
