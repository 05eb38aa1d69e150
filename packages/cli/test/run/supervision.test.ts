/** One term of a command, with a leadership that the test controls. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LeadershipEndedError, systemClock, type Clock } from "@leasehold/core/provider";
import type { Leadership } from "@leasehold/core";
import { signalAll } from "@leasehold/test-kit/processes/process-tree";
import { afterEach, beforeEach, expect, onTestFinished, test, vi, type MockInstance } from "vitest";
import { GuardProcess } from "../../src/run/guard-process.ts";
import { machineNow, type MachineInstant } from "../../src/run/machine-clock.ts";
import { supervise } from "../../src/run/supervision.ts";
import { StopSignals } from "../../src/run/stop-signals.ts";
import type { TermOutcome } from "../../src/run/term-outcome.ts";

const TIMING = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, validForMs: 13_500, graceMs: 8_000 };
const LOST = new LeadershipEndedError("e", 1, "resigned", "a test.");

const realKill = process.kill.bind(process);

let folder: string;
let terms = 0;
let dismiss: MockInstance<GuardProcess["dismiss"]>;
beforeEach(() => {
  dismiss = vi.spyOn(GuardProcess.prototype, "dismiss");
  folder = mkdtempSync(join(tmpdir(), "leasehold-supervision-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

interface TermParts {
  readonly tell?: (line: string) => void;
  readonly script?: string;
  readonly clock?: Clock;
  readonly graceMs?: number;
  readonly onRenewed?: (listener: () => void) => () => void;
}

async function termOf(
  leadership: Partial<Leadership>,
  {
    tell = () => {},
    script = "echo started > $0/started",
    clock = systemClock,
    graceMs = TIMING.graceMs,
    onRenewed = () => () => {},
  }: TermParts = {},
): Promise<TermOutcome> {
  using signals = new StopSignals(false);
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
    timing: { ...TIMING, graceMs },
    program: { path: "/bin/sh", command: ["sh", "-c", script, folder], env: process.env, hasInput: true },
    lossSignal: "SIGTERM",
    signals,
    clock,
    onRenewed,
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
  expect(await termOf({}, { tell: (line) => void said.push(line) })).toEqual({
    exit: { code: 0 },
    ended: undefined,
    overran: false,
  });
  expect(started()).toBe("started\n");
  expect(said).toEqual([]);
  expect(dismiss).toHaveBeenCalledOnce();
});

test("a term that ran out during a pause of this process has ended, even if the command's exit comes before any timer", async () => {
  const ending = new AbortController();
  const isValid = (): boolean => {
    if (started() !== "") ending.abort(LOST);
    return !ending.signal.aborted;
  };
  const outcome = await termOf({ signal: ending.signal, isValid });
  expect(outcome).toEqual({ exit: { code: 0 }, ended: LOST, overran: false });
});

test("starts no command if the term is over or ending once the guard is up", async () => {
  const ending = new AbortController();
  ending.abort(LOST);
  const { signal } = ending;
  for (const leadership of [{ signal, isValid: () => false }, { signal }]) {
    expect(await termOf(leadership)).toEqual({ exit: undefined, ended: LOST, overran: false });
    expect(started()).toBe("");
  }
  expect(dismiss).toHaveBeenCalledTimes(2);
});

test("ends the backup guard if the guard cannot be started", async () => {
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = join(folder, "nowhere");
  const outcome = await termOf({});
  expect(outcome.ended?.message).toContain("the guard cannot be started (ENOENT), without which nothing is run.");
  expect(started()).toBe("");
  expect(dismiss).toHaveBeenCalledOnce();
});

test("a guard that starts in more than a lease follows the renewals until then", async () => {
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = join(folder, "slow-node");
  const script = `#!/bin/sh\nuntil [ -e ${folder}/go ]; do sleep 0.02; done\nexec "${execPath}" "$@"\n`;
  writeFileSync(process.execPath, script, { mode: 0o755 });
  // With only its first order the guard would kill at once.
  let remainingMs = 0;
  let renewed = (): void => {};
  const onRenewed = (listener: () => void): (() => void) => {
    renewed = listener;
    return () => {};
  };
  const parts = { script: "sleep 0.5; exit 6", graceMs: 100, onRenewed };
  const term = termOf({ remainingMs: () => remainingMs }, parts);
  remainingMs = 13_500;
  renewed();
  writeFileSync(join(folder, "go"), "");
  expect(await term).toEqual({ exit: { code: 6 }, ended: undefined, overran: false });
});

test("makes the guard postpone its request before it asks, and cancel it afterwards", async () => {
  const order = vi.spyOn(GuardProcess.prototype, "order");
  let askedAt: MachineInstant | undefined;
  const kill = vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
    if (signal === "SIGTERM") askedAt = machineNow();
    return realKill(pid, signal);
  });
  const ended = Promise.withResolvers<Error>();
  let lostAt: MachineInstant | undefined;
  const checkpoint = (): void => {
    lostAt = machineNow();
    ended.resolve(LOST);
  };
  await termOf({ ended: ended.promise, checkpoint }, { script: "exec sleep 1000" });
  const asked = kill.mock.invocationCallOrder[kill.mock.calls.findIndex(([, signal]) => signal === "SIGTERM")]!;
  const given = order.mock.calls.map(([one], call) => ({ ...one, isBefore: order.mock.invocationCallOrder[call]! < asked }));
  const left = given.findLast(({ isBefore }) => isBefore)!;
  expect(left.termAt!.monotonicMs).toBeGreaterThanOrEqual(lostAt!.monotonicMs + 5_000);
  expect(left.termAt!.monotonicMs).toBeLessThanOrEqual(askedAt!.monotonicMs + 5_000);
  const after = given.filter(({ isBefore }) => !isBefore);
  expect(after.map(({ termAt }) => termAt)).toEqual([null]);
  // The grace counts from the request, and ends before the leadership does.
  expect(left.killAt.monotonicMs).toBeGreaterThan(after[0]!.killAt.monotonicMs);
  expect(after[0]!.killAt.monotonicMs).toBeGreaterThanOrEqual(askedAt!.monotonicMs + TIMING.graceMs);
});

test("kills a command without time left, and does not ask it", async () => {
  const kill = vi.spyOn(process, "kill");
  const ended = Promise.withResolvers<Error>();
  let isOver = false;
  const checkpoint = (): void => {
    isOver = true;
    ended.resolve(LOST);
  };
  const leadership = { ended: ended.promise, checkpoint, remainingMs: () => (isOver ? 0 : 13_500) };
  await termOf(leadership, { script: "exec sleep 1000" });
  expect(kill.mock.calls.filter(([, signal]) => signal !== 0 && signal !== "SIGKILL")).toEqual([]);
});

/** Waits for the guard's answer without a limit. */
const PATIENT: Clock = {
  ...systemClock,
  setTimer: (callback, ms) => systemClock.setTimer(callback, ms > 100 ? 60_000 : ms),
};

test("does not ask if the guard announces its request before it answers the order to postpone it", async () => {
  const kill = vi.spyOn(process, "kill");
  const ended = Promise.withResolvers<Error>();
  // oxlint-disable-next-line typescript/unbound-method -- it is called on a guard
  const { order } = GuardProcess.prototype;
  let [given, answered] = [0, 0];
  vi.spyOn(GuardProcess.prototype, "order").mockImplementation(async function (this: GuardProcess, one) {
    given += 1;
    const nth = given;
    await order.call(this, one);
    answered = nth;
  });
  vi.spyOn(GuardProcess.prototype, "hasAsked", "get").mockImplementation(() => answered === given);
  const checkpoint = (): void => ended.resolve(LOST);
  await termOf({ ended: ended.promise, checkpoint }, { script: "exec sleep 1", clock: PATIENT });
  expect(kill.mock.calls.filter(([, signal]) => signal !== 0)).toEqual([]);
});

test("reads the announcement of a guard that counts as lost after a freeze", async () => {
  const kill = vi.spyOn(process, "kill");
  const ended = Promise.withResolvers<Error>();
  let isRead = false;
  vi.spyOn(GuardProcess.prototype, "hasAsked", "get").mockImplementation(() => isRead);
  const checkpoint = (): void => {
    vi.spyOn(GuardProcess.prototype, "order").mockImplementation(async function (this: GuardProcess) {
      Object.assign(this, { lost: Promise.resolve("does not answer") });
      setImmediate(() => setImmediate(() => (isRead = true)));
      await new Promise(() => {});
    });
    ended.resolve(LOST);
  };
  await termOf({ ended: ended.promise, checkpoint }, { script: "exec sleep 1", clock: PATIENT });
  expect(kill.mock.calls.filter(([, signal]) => signal !== 0)).toEqual([]);
});

test("gives up processes one lease after the first SIGKILL, and leaves them to the guard", async () => {
  // Time passes only in the waits of `supervise`, so the guard has no time to act.
  const stepMs = 1_000;
  const [startMs, origin] = [Date.now(), process.hrtime.bigint()];
  let passedMs = 0;
  vi.spyOn(Date, "now").mockImplementation(() => startMs + passedMs);
  vi.spyOn(process.hrtime, "bigint").mockImplementation(() => origin + BigInt(passedMs) * 1_000_000n);
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    setTimer: (callback, ms) => {
      waits.push(ms);
      passedMs += stepMs;
      if (passedMs > 10 * TIMING.leaseDurationMs) throw new Error("It waits for ever.");
      return systemClock.setTimer(callback, 0);
    },
  };
  const sent: Array<readonly [ms: number, signal: unknown]> = [];
  const groups = new Set<number>();
  vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
    groups.add(pid);
    sent.push([passedMs, signal]);
    return true;
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
    signalAll([...groups], "SIGKILL");
  });

  const ending = new AbortController();
  const ended = Promise.withResolvers<Error>();
  const checkpoint = (): void => {
    ending.abort(LOST);
    ended.resolve(LOST);
  };
  const leadership = { signal: ending.signal, ended: ended.promise, checkpoint };
  expect(await termOf(leadership, { script: "exec sleep 1000", clock })).toEqual({ exit: undefined, ended: LOST, overran: true });
  const signals = sent.filter(([, signal]) => signal !== 0);
  // The first of these waits is for the guard's answer.
  expect(signals.slice(0, 2)).toEqual([
    [stepMs, "SIGTERM"],
    [stepMs, "SIGCONT"],
  ]);
  const kills = signals.slice(2);
  expect(kills).toEqual(
    Array.from({ length: TIMING.leaseDurationMs / stepMs + 1 }, (_, count) => [TIMING.graceMs + (count + 1) * stepMs, "SIGKILL"]),
  );
  // The first wait is for the guard's answer.
  expect(new Set(waits.slice(1))).toEqual(new Set([50]));
  expect(dismiss).not.toHaveBeenCalled();
});

test("a stop request has the first signal as its reason", () => {
  using signals = new StopSignals(false);
  process.emit("SIGINT", "SIGINT");
  process.emit("SIGTERM", "SIGTERM");
  expect(signals.stopped.reason).toMatchObject({ name: "StopRequest", signal: "SIGINT", message: "SIGINT was received." });
});
