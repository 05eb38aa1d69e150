import { describe, expect, test } from "vitest";
import type { Line } from "@leasehold/test-kit/candidates/history";
import { figuresOf, judge, problemsOf, type Verdict } from "./check.ts";
import type { EpisodeLog, WorkerLog } from "./episode-log.ts";
import type { Run } from "@leasehold/test-kit/candidates/register";

/** A bound that is easy to see in the times below. */
const LEADER_BACK_MS = 500;

describe("an election in which all is well", () => {
  test("has nothing wrong with it", () => {
    expect(problemsOf(judge(good()))).toEqual([]);
  });

  test("is counted", () => {
    const log = good({
      injected: [
        { kind: "kill", worker: "a1", fromMs: 400, toMs: 410 },
        { kind: "kill", worker: "c1", fromMs: 400, toMs: 410 },
        { kind: "delay", worker: "c1", fromMs: 400, toMs: 410 },
      ],
    });
    expect(figuresOf(log)).toEqual({
      rounds: 1,
      faults: new Map([
        ["kill", 2],
        ["delay", 1],
      ]),
      leaderChanges: 1,
      // From the end of a1 at 400 to the start of b1 at 700.
      longestGapMs: 300,
      longestReturnMs: 200,
      writes: 3,
      refused: 1,
    });
  });

  test("may leave open whether a write was carried out that was not confirmed", () => {
    for (const to of [2, 3]) {
      const log = good({
        a: [
          ...leads(1, 100, 400),
          ...writes(1, 1, "ok", 200),
          ...writes(1, 2, "ok", 250),
          ...writes(1, 3, "STORE_TIMEOUT", 350),
          exited(400),
        ],
        register: [run(1, "a1", 1, to), run(2, "b1", 1, 1)],
      });
      expect(problemsOf(judge(log))).toEqual([]);
    }
  });
});

describe("it is found that", () => {
  test("a store that had forgotten was not written anew", () => {
    expectOnly(good({ unhealed: ["sqlite had no record"] }), "unhealed", "sqlite had no record");
  });

  test("two are valid at once, by however little", () => {
    // a1's signal aborted in time, and a1 still believed that it led.
    const a = [...leads(1, 100, 400, 398), ...writes(1, 1, "ok", 200), ...writes(1, 2, "ok", 250), exited(400)];
    const log = good({ a, b: [...leads(2, 399, 900), renewed(600), ...writes(2, 1, "ok", 750)] });
    expectOnly(log, "overlaps", "a1 in term 1 and b1 in term 2 were valid at once for 1.0 ms");
  });

  test("a leader that has ended without a word was valid until its end", () => {
    const log = good({
      a: [...leads(1, 100, 400).slice(0, 2), exited(800)],
      injected: [{ kind: "restart", worker: "a1", fromMs: 300, toMs: 800 }],
      register: [run(2, "b1", 1, 1)],
    });
    expectOnly(log, "overlaps", "valid at once for 100.0 ms");
  });

  test.each(["kill", "freeze-and-kill"] as const)("but not one that has had no chance to (%s)", (kind) => {
    const log = good({
      a: [...leads(1, 100, 400).slice(0, 2), exited(800)],
      injected: [{ kind, worker: "a1", fromMs: 300, toMs: 800 }],
      register: [run(2, "b1", 1, 1)],
    });
    expect(problemsOf(judge(log))).toEqual([]);
  });

  test("a signal comes only after the next leader has begun", () => {
    const log = good({ a: [...leads(1, 100, 400, 701), ...writes(1, 1, "ok", 200), ...writes(1, 2, "ok", 250)] });
    expectOnly(log, "lateSignals", "the signal of a1 in term 1 had not aborted 1.0 ms after b1 led in term 2");
  });

  test("a stale write is accepted after the next leader's", () => {
    const log = good({ register: [run(1, "a1", 1, 1), run(2, "b1", 1, 1), run(1, "a1", 2, 2)] });
    expectOnly(log, "staleWrites", "entry 2 of a1 in term 1 came after entry 1 of b1 in term 2");
  });

  test("a stale write is accepted before the next leader's first", () => {
    const log = good({
      a: [...leads(1, 100, 400), ...writes(1, 1, "ok", 200), ...writes(1, 2, "ok", 710), exited(800)],
    });
    expectOnly(log, "staleWrites", "entry 2 of a1 in term 1 was sent 10.0 ms after its term was over, and was accepted");
  });

  test("one that nobody has confirmed is accepted so late", () => {
    const log = good({
      a: [...leads(1, 100, 400), ...writes(1, 1, "ok", 200), ...writes(1, 2, "STORE_TIMEOUT", 710), exited(800)],
    });
    expectOnly(log, "staleWrites", "entry 2 of a1 in term 1 was sent 10.0 ms after its term was over");
  });

  test("a write is accepted that was sent after its own term was released", () => {
    const released: Line = { atMs: 300, event: "stoppedLeading", term: 1, released: true };
    const log = good({
      a: [...leads(1, 100, 250), ...writes(1, 1, "ok", 200), released, ...writes(1, 2, "ok", 350), exited(400)],
    });
    expectOnly(log, "staleWrites", "entry 2 of a1 in term 1 was sent 50.0 ms after its term was over");
  });

  test("such a write is allowed until the next seal, where only a seal closes the fence", () => {
    const a = [...leads(1, 100, 400), ...writes(1, 1, "ok", 200), ...writes(1, 2, "ok", 710), exited(800)];
    const sealed = (atMs: number): Line => ({ atMs, event: "sealed", term: 2 });
    const b = [...leads(2, 700, 900), ...writes(2, 1, "ok", 750)];
    const fence = "after-seal";
    expect(problemsOf(judge(good({ a, b: [...b, sealed(720)], fence })))).toEqual([]);
    expectOnly(good({ a, b: [...b, sealed(705)], fence }), "staleWrites", "was sent 5.0 ms after its term was over");
  });

  test("two write in the same term", () => {
    const log = good({
      b: [...leads(2, 700, 900), ...writes(1, 1, "ok", 750)],
      register: [run(1, "a1", 1, 2), run(1, "b1", 1, 1)],
    });
    expect(judge(log).staleWrites).toContain("entry 1 of b1 in term 1 and entry 1 to 2 of a1 in term 1 are of the same term");
  });

  test.each([
    ["at the end", [run(1, "a1", 1, 1), run(2, "b1", 1, 1)], "entry 2 of a1 in term 1"],
    ["at the beginning", [run(1, "a1", 2, 2), run(2, "b1", 1, 1)], "entry 1 of a1 in term 1"],
    ["with everything of its term", [run(2, "b1", 1, 1)], "entry 2 of a1 in term 1"],
    ["with everything", [], "entry 1 of b1 in term 2"],
  ])("a confirmed write is lost (%s)", (_, register, lost) => {
    const verdict = judge(good({ register }));
    expect(verdict.lostWrites).toContain(`${lost} was confirmed, and is not there`);
    expect(problemsOf({ ...verdict, lostWrites: [] })).toEqual([]);
  });

  test("a write is there twice, or before an earlier one, or from nowhere", () => {
    const twice = judge(good({ register: [run(1, "a1", 1, 2), run(1, "a1", 2, 2), run(2, "b1", 1, 1)] }));
    expect(twice.lostWrites).toContain("entry 2 of a1 in term 1 is there twice");
    const turned = judge(good({ register: [run(1, "a1", 2, 2), run(1, "a1", 1, 1), run(2, "b1", 1, 1)] }));
    expect(turned.lostWrites).toEqual(["entry 1 of a1 in term 1 came after entry 2 of the same term"]);
    const invented = judge(good({ register: [run(1, "a1", 1, 2), run(2, "b1", 1, 3)] }));
    expect(invented.lostWrites).toEqual(["entry 3 of b1 in term 2 is there, and nobody has sent it"]);
  });

  test("nobody leads at all, or none leads any more after a round", () => {
    const log = good({ b: [], endedMs: 1_500, register: [run(1, "a1", 1, 2)] });
    expectOnly(log, "missingLeaders", "after the faults of round 1 were over nobody led");
    expect(judge({ ...log, workers: [] }).missingLeaders.join()).toContain("after the beginning nobody led");
  });

  test("but a leader may be back late, which is in the figures", () => {
    const b = [...leads(2, 1_001, 1_100), ...writes(2, 1, "ok", 1_050)];
    const log = good({ b, endedMs: 1_500 });
    expect(problemsOf(judge(log))).toEqual([]);
    expect(figuresOf(log).longestReturnMs).toBe(501);
  });

  test("a term that only drains is no leader", () => {
    const drains: Line[] = [{ atMs: 250, event: "aborted", term: 1, code: "LEASE_LOST", lastUnabortedMs: 250 }, renewed(600)];
    const log = good({ a: [...leads(1, 100, 610).filter(({ event }) => event !== "aborted"), ...drains], b: [], register: [] });
    expect(judge(log).missingLeaders).toEqual([
      "after the faults of round 1 were over nobody led; on an idle machine it takes 500 ms",
    ]);
  });

  test("a leader that goes on is one", () => {
    const log = good({
      a: [...leads(1, 100, 900), renewed(600), ...writes(1, 1, "ok", 200)],
      b: [],
      register: [run(1, "a1", 1, 1)],
    });
    expect(problemsOf(judge(log))).toEqual([]);
  });

  test.each([
    [{ atMs: 800, event: "exited", code: 1, signal: null }, "b1 ended with exit code 1: a stack"],
    [{ atMs: 800, event: "exited", code: 0, signal: null }, "b1 ended with exit code 0"],
    [{ atMs: 800, event: "exited", code: null, signal: "SIGSEGV" }, "b1 was ended by SIGSEGV"],
    [{ atMs: 800, event: "exited", code: null, signal: "SIGKILL" }, "b1 was ended by SIGKILL"],
    [{ atMs: 800, event: "exited", code: null, signal: "SIGTERM" }, "b1 was ended by SIGTERM"],
    [{ atMs: 800, event: "unhandled", error: "Error: lost" }, "b1: unhandled: Error: lost"],
    [{ atMs: 800, event: "listenerFailed", error: "Error: lost" }, "b1: listenerFailed: Error: lost"],
    [{ atMs: 800, event: "runRejected", error: "TypeError: no" }, "b1's run rejected: TypeError: no"],
  ] satisfies Array<[Line, string]>)("a process does what it never should: %j", (line, problem) => {
    const log = good({ b: [...leads(2, 700, 790), ...writes(2, 1, "ok", 750), line] });
    expectOnly(log, "unexpected", problem);
  });

  test("but SIGTERM may meet it while it exits, after its run has settled", () => {
    const lines: Line[] = [
      { atMs: 790, event: "runRejected", error: "DeliberateFailure: now and then" },
      { atMs: 800, event: "exited", code: null, signal: "SIGTERM" },
    ];
    const log = good({ b: [...leads(2, 700, 790), ...writes(2, 1, "ok", 750), ...lines] });
    expect(problemsOf(judge(log))).toEqual([]);
  });

  test("but it may be killed at the end, or by a fault, or fail on purpose", () => {
    const killed: Line = { atMs: 1_001, event: "exited", code: null, signal: "SIGKILL" };
    const failed: Line[] = [
      { atMs: 790, event: "runRejected", error: "DeliberateFailure: now and then" },
      { atMs: 800, event: "exited", code: 0, signal: null },
    ];
    for (const end of [[killed], failed]) {
      expect(problemsOf(judge(good({ b: [...leads(2, 700, 790), ...writes(2, 1, "ok", 750), ...end] })))).toEqual([]);
    }
  });

  test("or give up on a task that overruns, as long as that is pending", () => {
    const rejected: Line[] = [
      { atMs: 799, event: "runRejected", error: "DrainTimeoutError: still pending" },
      { atMs: 800, event: "exited", code: 0, signal: null },
    ];
    const overrun: Line = { atMs: 795, event: "overrun", sinceSignalMs: 40 };
    const log = (lines: readonly Line[]): EpisodeLog =>
      good({ b: [...leads(2, 700, 790), ...writes(2, 1, "ok", 750), ...lines, ...rejected] });
    expect(problemsOf(judge(log([overrun])))).toEqual([]);
    const settled: Line = { atMs: 797, event: "taskSettled", term: 2, valid: false };
    for (const lines of [[], [overrun, settled]]) expectOnly(log(lines), "unexpected", "DrainTimeoutError");
  });
});

interface Changes extends Partial<Omit<EpisodeLog, "workers">> {
  readonly a?: readonly Line[];
  readonly b?: readonly Line[];
}

/** Worker a1 leads from 100 to 400 and is killed; b1 leads from 700 on. Each writes. Later lines may come first. */
function good({
  a = [...leads(1, 100, 400), ...writes(1, 1, "ok", 200), ...writes(1, 2, "ok", 250), exited(400)],
  b = [...leads(2, 700, 900), ...writes(2, 1, "ok", 750), ...writes(2, 2, "refused", 950)],
  ...changes
}: Changes = {}): EpisodeLog {
  const worker = (name: string, lines: readonly Line[]): WorkerLog => ({
    worker: name,
    lines: lines.toSorted((one, other) => one.atMs - other.atMs),
    stderr: "a stack",
  });
  return {
    store: "sqlite",
    seed: 1,
    leaseMs: 200,
    leaderBackMs: LEADER_BACK_MS,
    fence: "atomic",
    workers: [worker("a1", a), worker("b1", b)],
    injected: [{ kind: "kill", worker: "a1", fromMs: 400, toMs: 410 }],
    healedMs: [50, 500],
    unhealed: [],
    register: [run(1, "a1", 1, 2), run(2, "b1", 1, 1)],
    endedMs: 1_000,
    ...changes,
  };
}

/**
 * Returns the lines of a term from its start to its last true `isValid()`. Its signal was last seen not aborted at
 * `lastUnabortedMs`.
 */
function leads(term: number, fromMs: number, toMs: number, lastUnabortedMs = toMs): Line[] {
  return [
    { atMs: fromMs, event: "valid", term },
    { atMs: fromMs, event: "taskStarted", term, valid: true },
    { atMs: lastUnabortedMs, event: "aborted", term, code: "LEASE_LOST", lastUnabortedMs },
    { atMs: toMs, event: "invalid", term, lastValidMs: toMs },
  ];
}

function writes(term: number, sequence: number, outcome: string, atMs: number): Line[] {
  return [
    { atMs, event: "appending", term, sequence },
    { atMs: atMs + 5, event: "appended", term, sequence, outcome },
  ];
}

function renewed(atMs: number): Line {
  return { atMs, event: "renewed" };
}

function exited(atMs: number): Line {
  return { atMs, event: "exited", code: null, signal: "SIGKILL" };
}

function run(term: number, worker: string, from: number, to: number): Run {
  return { term, worker, from, to };
}

/** Expects exactly one problem. */
function expectOnly(log: EpisodeLog, kind: keyof Verdict, problem: string): void {
  const problems = problemsOf(judge(log));
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(`${kind}: `);
  expect(problems[0]).toContain(problem);
}
