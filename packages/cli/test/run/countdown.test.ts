/** What the guard does, and when, in virtual time. */
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { Countdown } from "../../src/run/countdown.ts";
import type { GuardOrder } from "../../src/run/guard-order.ts";
import { after, machineNow } from "../../src/run/machine-clock.ts";

const FAR_MS = 600_000;
const LEADER = { pid: 100, startTicks: 1 };

/** What was done, each with its time: a signal, or `left`. */
let done: Array<readonly [ms: number, what: string]>;
let isGone: boolean;
/** How long it takes to find whom to ask. */
let askingMs: number;
let countdown: Countdown;
let startMs: number;

beforeEach(() => {
  vi.useFakeTimers();
  // What it waits for takes no time.
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
  countdown = new Countdown(
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

/** Gives an order, with times from now on. */
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

/** When the command was killed. */
const kills = (): readonly number[] => done.filter(([, what]) => what === "SIGKILL").map(([ms]) => ms);

test("asks once, when the time passes unheard of, and leaves soon after the last process has gone", () => {
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

test("asks nothing where the wrapper asks, or renews, just after a stall of both of them", () => {
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(399);
  order({ term: 300, kill: FAR_MS });
  vi.advanceTimersByTime(399);
  order({ term: null, kill: FAR_MS });
  vi.advanceTimersByTime(10_000);
  expect(done).toEqual([]);
});

test("waits for a wrapper's word a quarter of the time that is left until it kills, at the most", () => {
  order({ term: 300, kill: 340 });
  vi.advanceTimersByTime(340);
  expect(done).toEqual([
    [310, "asked by SIGINT"],
    [340, "SIGKILL"],
  ]);
});

test("goes by the last order, and forgets when it would have looked by those before", () => {
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

test("kills at the end of the grace, and again for who is born meanwhile, until nothing is left", () => {
  order({ term: 0, kill: FAR_MS }, { graceMs: 520 });
  vi.advanceTimersByTime(700);
  expect(kills()).toEqual([620, 670]);
  isGone = true;
  vi.advanceTimersByTime(50);
  expect(done.at(-1)).toEqual([720, "left"]);
});

test("kills at the end of validity, whatever is left of the grace", () => {
  order({ term: 100, kill: 520 });
  vi.advanceTimersByTime(560);
  expect(kills()).toEqual([520]);
});

test("kills what the wrapper has asked already, asks no second time, and leaves it to the wrapper to say that nothing is left", () => {
  isGone = true;
  order({ term: null, kill: 520 });
  vi.advanceTimersByTime(560);
  expect(done).toEqual([[520, "SIGKILL"]]);
});

test("kills at once where the time for it has passed while the command was asked", () => {
  askingMs = 1_000;
  order({ term: 0, kill: 400 });
  vi.advanceTimersByTime(100);
  expect(done).toEqual([
    [100, "asked by SIGINT"],
    [1_100, "SIGKILL"],
  ]);
});

test("counts the grace from when the command has been asked", () => {
  askingMs = 1_000;
  order({ term: 0, kill: FAR_MS }, { graceMs: 5_000 });
  vi.advanceTimersByTime(100);
  vi.advanceTimersByTime(4_999);
  expect(kills()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(kills()).toEqual([6_100]);
});

test("asks nothing that is to be killed at once", () => {
  order({ term: 100, kill: 0 });
  countdown.close();
  vi.advanceTimersByTime(1_000);
  expect(new Set(done.map(([, what]) => what))).toEqual(new Set(["SIGKILL"]));
});

test("asks no second time where the wrapper has gone after it had asked, and kills in time", () => {
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

test("gives up what is there for a minute after the first KILL", () => {
  order({ term: 0, kill: 0 });
  vi.advanceTimersByTime(59_999);
  expect(done).not.toContainEqual([expect.any(Number), "left"]);
  vi.advanceTimersByTime(1);
  expect(done.at(-1)).toEqual([60_000, "left"]);
});

test("asks at once when the wrapper is gone, whatever it was told", () => {
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

test("leaves at once when the wrapper is gone before it gave an order, and waits for one before", () => {
  countdown.look();
  expect(done).toEqual([]);
  countdown.close();
  expect(done).toEqual([[0, "left"]]);
});

test("waits for a command that may be started yet, as long as the wrapper lives, and a second longer", () => {
  isGone = true;
  order({ term: 100, kill: FAR_MS }, { leader: undefined });
  vi.advanceTimersByTime(5_000);
  countdown.close();
  vi.advanceTimersByTime(999);
  expect(done).toEqual([[200, "asked by SIGINT"]]);
  vi.advanceTimersByTime(1);
  expect(done.at(-1)).toEqual([6_000, "left"]);
});

test("looks every second at a wall clock that jumps, and goes by whichever clock is first", () => {
  order({ term: FAR_MS, kill: FAR_MS });
  vi.advanceTimersByTime(1);
  vi.setSystemTime(Date.now() + FAR_MS);
  vi.advanceTimersByTime(998);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(done.map(([, what]) => what)).toEqual(["SIGKILL"]);
});
