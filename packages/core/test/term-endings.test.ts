/** How a term ends: by silence, by a stop, by a loss, and by the end of its task. */
import { describe, expect, test } from "vitest";
import { beginTerm, isOverdue, nextTickMs, step } from "../src/election/term-machine.ts";
import type { TermEffect, TermEvent, TermPlan, TermState } from "../src/election/term-state.ts";
import { decideTiming } from "../src/election/timing.ts";
import type { Instant } from "../src/time/clock.ts";

const timing = decideTiming({ leaseDurationMs: 15_000, stallTimeoutMs: 8_000, drainTimeoutMs: 6_000 });
const at = (ms: number): Instant => ({ monotonicMs: 1_000 + ms, wallMs: 1_000 + ms });
const lease = { election: "e", candidateId: "c", term: 1, termId: "t", leaseDurationMs: 15_000, grantedAt: at(0) };
const plan: TermPlan = { lease, timing, renewal: "scheduled", releaseOnStop: true, minimumHoldMs: 0 };
const begun = beginTerm(plan, at(0));

const RESIGNED = new Error("resigned");
const resign: TermEvent = { type: "end", reason: RESIGNED };
const stop: TermEvent = { type: "end", reason: new Error("stopped"), stops: true };
const tick: TermEvent = { type: "tick" };
const settled: TermEvent = { type: "work-settled", isFailed: false };
const taken: TermEvent = {
  type: "renewed",
  outcome: { held: false, reason: "taken", barredUntilExpiry: false, explanation: "another has it" },
};

/** Takes events at their times. Returns the state, and the effects of the last event. */
function take(
  first: TermState,
  ...events: ReadonlyArray<readonly [number, TermEvent]>
): { term: TermState; effects: readonly TermEffect[] } {
  let term = first;
  let effects: readonly TermEffect[] = [];
  for (const [ms, event] of events) ({ term, effects } = step(term, event, at(ms)));
  return { term, effects };
}

function typesOf(effects: readonly TermEffect[]): string[] {
  return effects.map(({ type }) => type);
}

describe("the clocks", () => {
  test.for([
    ["before the renew deadline", begun, 9_999, false],
    ["at the renew deadline", begun, 10_000, true],
    ["while the task drains before the end of validity", take(begun, [0, resign]).term, 13_499, false],
    ["while the task drains at the end of validity", take(begun, [0, resign]).term, 13_500, true],
    ["after the end of the term", take(begun, [0, taken]).term, 20_000, false],
  ] as const)("are checked where they change something: %s", ([, term, ms, isDue]) => {
    expect(isOverdue(term, at(ms))).toBe(isDue);
  });

  test.for([
    ["is a second away at most", begun, 0, 1_000],
    ["is the renew deadline if that is nearer", take(begun, [5_000, { type: "checkpoint" }], [5_000, tick]).term, 9_400, 10_000],
    ["is the next renewal if that is nearer", begun, 4_600, 5_000],
    ["is the end of the drain if that is nearer", take(begun, [0, resign], [5_000, tick]).term, 5_900, 6_000],
    ["is the end of the silence if that is nearer", take(begun, [5_000, tick]).term, 7_500, 8_000],
    ["is the end of the drain alone once the term is over", take(begun, [1_000, taken]).term, 1_000, 1_750],
    ["never comes once the task has settled", take(begun, [1_000, settled]).term, 1_000, Infinity],
  ] as const)("are looked at by a tick that %s", ([, term, ms, tickMs]) => {
    expect(nextTickMs(term, at(ms))).toBe(at(tickMs).monotonicMs);
  });
});

test("a grant ends the term if the wall clock has run too far since its send", () => {
  const { monotonicMs, wallMs } = at(1_000);
  const extendedAt: Instant = { monotonicMs, wallMs: wallMs - 20_000 };

  expect(take(begun, [2_000, { type: "renewed", outcome: { held: true, extendedAt } }]).term.phase).toBe("over");
});

describe("a task that is silent", () => {
  test("is told for how long, and loses its signal", () => {
    const { term } = take(begun, [8_200, tick]);

    expect(term.drain?.reason.message).toContain("was silent for 8200 ms (stallTimeoutMs 8000)");
  });

  test("has as long again after a checkpoint", () => {
    const checked = take(begun, [1_000, { type: "checkpoint" }], [5_000, tick]).term;

    expect(take(checked, [8_999, tick]).term.phase).toBe("leading");
    expect(take(checked, [9_000, tick]).term.phase).toBe("ending");
  });
});

describe("a stop", () => {
  test("gives up waiting when the task overruns", () => {
    expect(take(begun, [0, stop], [6_000, tick]).effects).toEqual([
      { type: "announce-overrun", sinceSignalMs: 6_000 },
      { type: "give-up-waiting", waitedMs: 6_000 },
    ]);
  });

  test("gives up waiting at once, and once, if the task has overrun already", () => {
    const overrun = take(begun, [0, resign], [6_000, tick]).term;

    expect(take(overrun, [7_000, stop]).effects).toEqual([{ type: "give-up-waiting", waitedMs: 7_000 }]);
    expect(take(overrun, [7_000, stop], [8_000, stop]).effects).toEqual([]);
  });

  test("does not change the reason of a term that is ending already", () => {
    expect(take(begun, [0, resign], [1_000, stop]).term.drain?.reason).toBe(RESIGNED);
  });

  test("leaves the lease to expire with releaseOnStop off, unlike a resignation", () => {
    const keeping = beginTerm({ ...plan, releaseOnStop: false }, at(0));

    expect(typesOf(take(keeping, [0, stop], [1_000, settled]).effects)).toEqual(["finish"]);
    expect(typesOf(take(keeping, [0, resign], [1_000, settled]).effects)).toEqual(["release"]);
  });
});

describe("a loss", () => {
  test("leaves a task that drains half of the safety margin", () => {
    expect(take(begun, [1_000, resign], [2_000, taken]).term.drain?.untilMs).toBe(at(2_750).monotonicMs);
  });

  test("leaves a task no more than its drain", () => {
    expect(take(begun, [1_000, resign], [6_800, taken]).term.drain?.untilMs).toBe(at(7_000).monotonicMs);
  });

  test("has the reason of the signal as its cause", () => {
    expect(take(begun, [1_000, resign], [2_000, taken]).term.over?.cause).toBe(RESIGNED);
  });
});

describe("the end of a task", () => {
  const holding = beginTerm({ ...plan, minimumHoldMs: 5_000 }, at(0));

  test("releases the lease with what is left of the hold, and aborts the signal silently", () => {
    expect(take(holding, [2_000, settled]).effects).toEqual([
      { type: "abort", reason: expect.objectContaining({ reason: "released" }) as Error, isSilent: true },
      { type: "release", endReason: undefined, holdMs: 3_000 },
    ]);
  });

  test("releases the lease without a hold if the task has failed", () => {
    const failed: TermEvent = { type: "work-settled", isFailed: true };

    expect(take(holding, [2_000, failed]).effects.at(-1)).toEqual({ type: "release", endReason: undefined, holdMs: 0 });
  });

  test("tells the reason for which the term ended before", () => {
    const { term, effects } = take(begun, [1_000, resign], [2_000, settled]);

    expect(effects).toEqual([{ type: "release", endReason: RESIGNED, holdMs: -2_000 }]);
    expect(term.over).toBe(RESIGNED);
  });

  test("counts as released after a completion that is confirmed", () => {
    const { effects } = take(begun, [1_000, { type: "completing" }], [1_500, { type: "completed" }], [2_000, settled]);

    expect(effects.at(-1)).toEqual({ type: "finish", endReason: undefined, isReleased: true });
  });

  test("does not count as released after a loss", () => {
    expect(take(begun, [1_000, taken], [2_000, settled]).effects.at(-1)).toMatchObject({ type: "finish", isReleased: false });
  });
});
