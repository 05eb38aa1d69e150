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
/** True until the timer tells the backup guard that the command is gone. */
let isBackedUp: boolean;
/** How long `endGroup` takes to find the processes. */
let askingMs: number;
let timer: GuardTimer;
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
  isBackedUp = true;
  askingMs = 0;
  const note = (what: string): void => void done.push([machineNow().monotonicMs - startMs, what]);
  timer = new GuardTimer(
    {
      endGroup: (_mark, signal) => {
        note(`asked by ${signal}`);
        vi.advanceTimersByTime(askingMs);
      },
      signalGroup: (_mark, signal) => note(signal),
      isGone: () => isGone,
    },
    () => (isBackedUp = false),
    () => note("left"),
  );
});

/** Gives an order, whose times count from now. */
function order(inMs: { readonly term: number; readonly kill: number }, more: Partial<GuardOrder> = {}): void {
  const now = machineNow();
  timer.hear({
    seq: 1,
    termId: "t",
    leader: LEADER,
    signal: "SIGINT",
    graceMs: FAR_MS,
    termAt: after(now, inMs.term),
    killAt: after(now, inMs.kill),
    ...more,
  });
  timer.look();
}

/** Returns when the command was killed. */
const kills = (): readonly number[] => done.filter(([, what]) => what === "SIGKILL").map(([ms]) => ms);

test("asks once when `termAt` passes without a newer order, and leaves once the wrapper is gone, too", () => {
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(299);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(500);
  isGone = true;
  vi.advanceTimersByTime(1_000);
  expect(done).toEqual([[300, "asked by SIGINT"]]);
  timer.close();
  expect(done.at(-1)).toEqual([1_799, "left"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("asks at once when the wrapper orders it, and only once", () => {
  order({ term: FAR_MS, kill: FAR_MS });
  vi.advanceTimersByTime(200);
  order({ term: 0, kill: FAR_MS }, { signal: "SIGQUIT" });
  vi.advanceTimersByTime(100);
  order({ term: 0, kill: FAR_MS });
  vi.advanceTimersByTime(10_000);
  expect(done).toEqual([[200, "asked by SIGQUIT"]]);
});

test("asks again if the command started after it was asked", () => {
  order({ term: 0, kill: FAR_MS }, { leader: undefined });
  vi.advanceTimersByTime(100);
  order({ term: 0, kill: FAR_MS });
  order({ term: 0, kill: FAR_MS });
  expect(done).toEqual([
    [0, "asked by SIGINT"],
    [100, "asked by SIGINT"],
  ]);
});

test("signals nothing after the command is gone, because its number may be another group's", () => {
  order({ term: 0, kill: 500 });
  isGone = true;
  expect(isBackedUp).toBe(true);
  vi.advanceTimersByTime(100);
  expect(isBackedUp).toBe(false);
  isGone = false;
  order({ term: 0, kill: 0 });
  vi.advanceTimersByTime(1_000);
  timer.close();
  expect(done).toEqual([
    [0, "asked by SIGINT"],
    [1_100, "left"],
  ]);
});

test("follows the last order, and drops the timer of earlier orders", () => {
  for (let count = 0; count < 10; count += 1) {
    order({ term: 300, kill: FAR_MS });
    vi.advanceTimersByTime(200);
  }
  expect(done).toEqual([]);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(50);
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(1_000);
  expect(done).toEqual([[2_350, "asked by SIGINT"]]);
});

test("kills at the end of the grace, and kills new processes until none is left", () => {
  order({ term: 0, kill: FAR_MS }, { graceMs: 520 });
  vi.advanceTimersByTime(600);
  expect(kills()).toEqual([520, 570]);
  isGone = true;
  vi.advanceTimersByTime(1_000);
  expect(kills()).toEqual([520, 570, 620, 670]);
});

test("kills at the end of validity, even if grace is left", () => {
  order({ term: 100, kill: 520 });
  vi.advanceTimersByTime(560);
  expect(kills()).toEqual([520]);
});

test("kills at once if `killAt` passes while it asks the command", () => {
  askingMs = 1_000;
  order({ term: 0, kill: 400 });
  expect(done).toEqual([
    [0, "asked by SIGINT"],
    [1_000, "SIGKILL"],
  ]);
});

test("counts the grace from the end of its request", () => {
  askingMs = 1_000;
  order({ term: 0, kill: FAR_MS }, { graceMs: 5_000 });
  vi.advanceTimersByTime(4_999);
  expect(kills()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(kills()).toEqual([6_000]);
});

test("does not ask if KILL is due at once", () => {
  order({ term: 100, kill: 0 });
  timer.close();
  vi.advanceTimersByTime(1_000);
  expect(new Set(done.map(([, what]) => what))).toEqual(new Set(["SIGKILL"]));
});

test("does not ask again if the wrapper ends after its order to ask, and kills in time", () => {
  order({ term: 0, kill: 520 });
  done = [];
  timer.close();
  vi.advanceTimersByTime(519);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done).toEqual([[520, "SIGKILL"]]);
  isGone = true;
  vi.advanceTimersByTime(100);
  expect(done.at(-1)).toEqual([620, "left"]);
});

test("gives up a process that survives KILL for a minute", () => {
  order({ term: 0, kill: 0 });
  timer.close();
  vi.advanceTimersByTime(59_999);
  expect(done).not.toContainEqual([expect.any(Number), "left"]);
  vi.advanceTimersByTime(1);
  expect(done.at(-1)).toEqual([60_000, "left"]);
});

test("asks at once when the wrapper is gone, whatever its order says", () => {
  order({ term: FAR_MS, kill: FAR_MS });
  vi.advanceTimersByTime(100);
  timer.close();
  vi.advanceTimersByTime(900);
  isGone = true;
  // It leaves once, and sets no timer after that.
  vi.advanceTimersByTime(1_000);
  expect(done).toEqual([
    [100, "asked by SIGINT"],
    [1_100, "left"],
  ]);
});

test("leaves at once when the wrapper ends without an order, and waits until then", () => {
  timer.look();
  expect(done).toEqual([]);
  timer.close();
  expect(done).toEqual([[0, "left"]]);
});

test("waits for a command that may still start, until a second after the wrapper's end", () => {
  isGone = true;
  order({ term: 100, kill: FAR_MS }, { leader: undefined });
  vi.advanceTimersByTime(5_000);
  timer.close();
  vi.advanceTimersByTime(999);
  expect(done).toEqual([[100, "asked by SIGINT"]]);
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

test("a single check that misses a process of the command is not the end: KILL is sent in time", () => {
  order({ term: 0, kill: 1_000 });
  isGone = true;
  vi.advanceTimersByTime(50);
  isGone = false;
  vi.advanceTimersByTime(1_000);

  expect(done.filter(([, what]) => what === "SIGKILL")[0]).toEqual([1_000, "SIGKILL"]);
});

test("the first check alone is not the end either", () => {
  isGone = true;
  order({ term: 0, kill: 1_000 });
  isGone = false;
  vi.advanceTimersByTime(1_000);
  expect(kills()).toEqual([1_000]);
});
