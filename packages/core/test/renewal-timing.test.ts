/** When a term's renewals are sent, and for how long each request may take. */
import { describe, expect, test } from "vitest";
import { isLastTryDue, mayRenew, nextGridMs, requestLimitMs, retryInMs } from "../src/election/renewal-timing.ts";
import { beginTerm, nextTickMs, step } from "../src/election/term-machine.ts";
import type { TermEvent, TermPlan, TermState } from "../src/election/term-state.ts";
import { decideTiming } from "../src/election/timing.ts";
import { StoreError } from "../src/reporting/errors.ts";
import type { Instant } from "../src/time/clock.ts";

/** The renew deadline is at 10 s, and the last try at 8.4 s. The leadership is over at 13.5 s. */
const timing = decideTiming({ leaseDurationMs: 15_000, attemptTimeoutMs: 1_600 });
const at = (ms: number): Instant => ({ monotonicMs: 1_000 + ms, wallMs: 1_000 + ms });
const lease = { election: "e", candidateId: "c", term: 1, termId: "t", leaseDurationMs: 15_000, grantedAt: at(0) };
const plan: TermPlan = { lease, timing, renewal: "scheduled", releaseOnStop: true, minimumHoldMs: 0 };

const scheduled = beginTerm(plan, at(0));
const manual = beginTerm({ ...plan, renewal: "manual" }, at(0));
const closed: TermState = { ...scheduled, renewal: { is: "closed" } };
const ending = step(scheduled, { type: "end", reason: new Error("resigned") }, at(0)).term;

describe("the grid of the renewals", () => {
  test.for([
    [0, 5_000],
    [4_994, 5_000],
    [4_995, 10_000],
    [5_000, 10_000],
    [9_999, 15_000],
    [12_000, 15_000],
  ])("a grant at %i ms is followed by a renewal at %i ms", ([grantMs = 0, nextMs = 0]) => {
    expect(nextGridMs({ ...scheduled, grantedAt: at(grantMs) })).toBe(at(nextMs).monotonicMs);
  });

  test("a renewal that succeeds is followed by one at the next instant of the grid", () => {
    const outcome = { held: true, extendedAt: at(5_000) } as const;

    expect(take(scheduled, [{ type: "tick" }, { type: "renewed", outcome }], 5_000).renewal).toEqual({
      is: "due",
      atMs: at(10_000).monotonicMs,
    });
  });

  test.for([
    [26.5, 30],
    [27.5, 60],
  ])("with an interval of 30 ms, a grant at %d ms is followed by a renewal at %i ms", ([grantMs = 0, nextMs = 0]) => {
    const short = { ...timing, renewIntervalMs: 30 };

    expect(nextGridMs({ ...scheduled, plan: { ...plan, timing: short }, grantedAt: at(grantMs) })).toBe(at(nextMs).monotonicMs);
  });
});

interface Retry {
  readonly of?: TermState;
  /** Failures before this one. */
  readonly failures?: number;
  /** The renewal was asked for then, and failed `tookMs` later. */
  readonly askedMs: number;
  readonly tookMs?: number;
  readonly retryAfterMs?: number;
  readonly inMs: number;
}

describe("the wait after a failed renewal", () => {
  test.for<readonly [string, Retry]>([
    ["is 100 ms after the first failure", { askedMs: 5_000, inMs: 100 }],
    ["doubles after the second", { failures: 1, askedMs: 5_000, inMs: 200 }],
    ["doubles after the third", { failures: 2, askedMs: 5_000, inMs: 400 }],
    ["doubles after the fourth", { failures: 3, askedMs: 5_000, inMs: 800 }],
    ["is a quarter of the interval at most", { failures: 4, askedMs: 5_000, inMs: 1_250 }],
    ["counts the duration of the attempt", { askedMs: 5_000, tookMs: 60, inMs: 40 }],
    ["is none after an attempt that took as long", { askedMs: 5_000, tookMs: 100, inMs: 0 }],
    ["is none after an attempt that timed out", { failures: 3, askedMs: 5_000, tookMs: 1_600, inMs: 0 }],
    ["is as long as the service asks", { askedMs: 5_000, retryAfterMs: 700, inMs: 700 }],
    [
      "is as long as the service asks, however long the attempt took",
      { askedMs: 5_000, tookMs: 900, retryAfterMs: 700, inMs: 700 },
    ],
    ["is not shorter because the service asks for less", { askedMs: 5_000, retryAfterMs: 50, inMs: 100 }],
    ["ends with the last try if the service asks for more", { askedMs: 5_000, retryAfterMs: 60_000, inMs: 3_400 }],
    ["ends with the last try if the backoff is longer", { failures: 4, askedMs: 8_000, inMs: 400 }],
    ["is none if the last try became due meanwhile", { failures: 4, askedMs: 8_300, tookMs: 100, inMs: 0 }],
    ["ends with a last try that is due in a millisecond", { askedMs: 8_399, inMs: 1 }],
    ["is the whole backoff after a last try that took no time", { askedMs: 8_400, inMs: 100 }],
    ["is the backoff after a last try that failed at once", { askedMs: 8_400, tookMs: 50, inMs: 50 }],
    ["is a longer backoff after more failures before the last try", { failures: 3, askedMs: 8_400, tookMs: 50, inMs: 750 }],
    ["is not as long as the service asks after the last try", { askedMs: 8_400, tookMs: 50, retryAfterMs: 5_000, inMs: 50 }],
    ["ends with a later last try once the signal has aborted", { of: ending, askedMs: 8_400, retryAfterMs: 60_000, inMs: 3_500 }],
    ["is the backoff where the task renews by hand", { of: manual, askedMs: 9_000, tookMs: 30, inMs: 70 }],
  ])("%s", ([, { of: term = scheduled, failures = 0, askedMs, tookMs = 0, retryAfterMs = 0, inMs }]) => {
    const isBeforeLastTry = term !== manual && askedMs < 8_400;
    const failed = { atMs: at(askedMs).monotonicMs, isBeforeLastTry, retryAfterMs };

    expect(retryInMs({ ...term, failures }, failed, at(askedMs + tookMs))).toBeCloseTo(inMs, 6);
  });

  test("grows with each failure, and is short again after a success", () => {
    const failed: TermEvent = { type: "renewal-failed", error: new Error("no reply") };
    const first = take(scheduled, [{ type: "tick" }, failed], 5_000);
    const second = take(first, [{ type: "tick" }, failed], 5_100);
    const success = take(second, [{ type: "tick" }, { type: "renewed", outcome: { held: true } }], 5_300);
    const third = take(success, [{ type: "tick" }, failed], 6_000);

    expect([first, second, third].map(({ renewal }) => renewal)).toEqual([
      { is: "due", atMs: at(5_100).monotonicMs },
      { is: "due", atMs: at(5_300).monotonicMs },
      { is: "due", atMs: at(6_100).monotonicMs },
    ]);
  });

  test.for([
    [8_399, true],
    [8_400, false],
  ] as const)("takes a renewal at %i ms for one before the last try: %s", ([ms, isBeforeLastTry]) => {
    expect(take(scheduled, [{ type: "tick" }], ms).renewal).toMatchObject({ is: "under-way", isBeforeLastTry });
  });

  test("is none if the attempt timed out and the error asks for no wait", () => {
    const timedOut = step(
      take(scheduled, [{ type: "tick" }], 5_000),
      { type: "renewal-failed", error: new Error("no reply") },
      at(6_600),
    );

    expect(timedOut.term.renewal).toEqual({ is: "due", atMs: at(6_600).monotonicMs });
  });

  test("is as long as the error asks", () => {
    const details = { store: "memory", operation: "put", election: "e", mayHaveBeenApplied: false, retryAfterMs: 700 };
    const error = new StoreError("STORE_THROTTLED", "too many requests", details);
    const { renewal } = take(scheduled, [{ type: "tick" }, { type: "renewal-failed", error }], 5_000);

    expect(renewal).toEqual({ is: "due", atMs: at(5_700).monotonicMs });
  });
});

describe("the time limit of a request", () => {
  test.for<readonly [string, TermState, number, number]>([
    ["is that of an attempt", scheduled, 0, 1_600],
    ["ends with the last try before that is due", scheduled, 7_000, 1_400],
    ["is a millisecond right before the last try", scheduled, 8_399, 1],
    ["is that of an attempt for the last try", scheduled, 8_400, 1_600],
    ["ends with the validity of the leadership", scheduled, 12_500, 1_000],
    ["is none once the leadership is over", scheduled, 13_500, 0],
    ["ends with the validity where renewals are closed", closed, 12_000, 1_500],
    ["does not end with a last try where renewals are closed", closed, 8_000, 1_600],
    ["does not end with a last try where the task renews by hand", manual, 8_000, 1_600],
  ])("%s", ([, term, nowMs, limitMs]) => {
    expect(requestLimitMs(term, at(nowMs))).toBe(limitMs);
  });
});

describe("a renewal whose turn has come", () => {
  test.for<readonly [string, TermState, number, boolean]>([
    ["is sent", scheduled, 5_000, true],
    ["is sent with half of an attempt left before the last try", scheduled, 7_600, true],
    ["is not sent with less than that", scheduled, 7_601, false],
    ["is not sent right before the last try", scheduled, 8_399, false],
    ["is sent when the last try is due", scheduled, 8_400, true],
    ["is sent at any time where the task renews by hand", manual, 8_000, true],
    ["is not sent where renewals are closed", closed, 5_000, false],
  ])("%s", ([, term, nowMs, isSent]) => {
    expect(mayRenew(term, at(nowMs))).toBe(isSent);
  });

  test("waits for the last try if it is not sent", () => {
    const underWay = take(scheduled, [{ type: "tick" }], 8_000);
    const { renewal } = take(underWay, [{ type: "renewal-skipped" }], 8_000);

    expect(renewal).toEqual({ is: "due", atMs: at(8_400).monotonicMs });
  });

  test("lets time go on if it is skipped at the last try itself", () => {
    const underWay = take(scheduled, [{ type: "tick" }], 8_400);
    const skipped = take(underWay, [{ type: "renewal-skipped" }], 8_400);

    expect(nextTickMs(skipped, at(8_400))).toBeGreaterThan(at(8_400).monotonicMs);
  });
});

describe("the last try goes before a publication", () => {
  test.for<readonly [string, TermState, number, boolean]>([
    ["not before it is due", scheduled, 8_399, false],
    ["once it is due", scheduled, 8_400, true],
    ["never where renewals are closed", closed, 8_400, false],
    ["never where the task renews by hand", manual, 8_400, false],
  ])("%s", ([, term, nowMs, isDue]) => {
    expect(isLastTryDue(term, at(nowMs))).toBe(isDue);
  });
});

describe("a wake-up", () => {
  const due: TermEvent = { type: "tick" };
  const woken: TermEvent = { type: "woken" };

  test.for<readonly [string, TermEvent]>([
    ["succeeds", { type: "renewed", outcome: { held: true, extendedAt: at(5_000) } }],
    ["fails", { type: "renewal-failed", error: new Error("no reply") }],
  ])("while a renewal is under way renews again at once, where that one %s", ([, reply]) => {
    const term = take(scheduled, [due, woken, reply], 5_000);

    expect(term.renewal).toEqual({ is: "due", atMs: at(5_000).monotonicMs });
  });

  test("makes a renewal due at once, for the next tick to send: a process that is suspended sends none", () => {
    const { term, effects } = step(scheduled, woken, at(2_000));

    expect([term.renewal, effects]).toEqual([{ is: "due", atMs: at(2_000).monotonicMs }, []]);
  });

  test("does not renew a term that its task renews by hand", () => {
    expect(step(manual, woken, at(2_000))).toEqual({ term: manual, effects: [] });
  });
});

describe("the renewal that a publication sends first", () => {
  const extra: TermEvent = { type: "renewed", outcome: { held: true, extendedAt: at(6_000) }, isExtra: true };

  test("leaves another one under way", () => {
    const { renewal } = take(scheduled, [{ type: "tick" }, extra], 6_000);

    expect(renewal.is).toBe("under-way");
  });

  test("covers the grid where none is under way", () => {
    const { renewal } = take(scheduled, [extra], 6_000);

    expect(renewal).toEqual({ is: "due", atMs: at(10_000).monotonicMs });
  });
});

/** Takes events at one instant. */
function take(term: TermState, events: readonly TermEvent[], ms: number): TermState {
  return events.reduce((now, event) => step(now, event, at(ms)).term, term);
}
