/** One term of a command, with a leadership that the test controls. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LeadershipEndedError, systemClock, type Clock } from "@leasehold/core/provider";
import type { Leadership } from "@leasehold/core";
import { signalAll } from "@leasehold/test-kit/processes/process-tree";
import { afterEach, beforeEach, expect, onTestFinished, test, vi, type MockInstance } from "vitest";
import { GuardProcess } from "../../src/run/guard-process.ts";
import { isDue, machineNow, untilMs, type MachineInstant } from "../../src/run/machine-clock.ts";
import { supervise } from "../../src/run/supervision.ts";
import { StopSignals } from "../../src/run/stop-signals.ts";
import type { TermOutcome } from "../../src/run/term-outcome.ts";

const TIMING = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, validForMs: 13_500, graceMs: 8_000 };
/** The time that the guard has for its first answer. */
const FIRST_ANSWER_MS = 60_000;
const LOST = new LeadershipEndedError("e", 1, "resigned", "a test.");

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
  const cancelled: number[] = [];
  const clock: Clock = {
    ...systemClock,
    setTimer(callback, ms) {
      const timer = systemClock.setTimer(callback, ms);
      const cancel = (): void => {
        cancelled.push(ms);
        timer.cancel();
      };
      return { cancel };
    },
  };
  expect(await termOf({}, { tell: (line) => void said.push(line), clock })).toEqual({
    exit: { code: 0 },
    ended: undefined,
    overran: false,
  });
  expect(started()).toBe("started\n");
  expect(said).toEqual([]);
  expect(cancelled).toContain(FIRST_ANSWER_MS);
  expect(dismiss).toHaveBeenCalledOnce();
});

test("collects the garbage of its start before the command runs", async () => {
  const garbage = ((): WeakRef<object> => new WeakRef({}))();
  await new Promise(setImmediate);
  let isCollected = false;
  await termOf({ checkpoint: () => void (isCollected = garbage.deref() === undefined) });
  expect(isCollected).toBe(true);
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
  expect(outcome).toMatchObject({ exit: undefined, overran: false });
  expect(outcome.ended?.message).toContain("the guard cannot be started (ENOENT), without which nothing is run.");
  expect(started()).toBe("");
  expect(dismiss).toHaveBeenCalledOnce();
});

test.runIf(process.platform === "linux")("tells that the backup guard was killed, and goes on", async () => {
  const told: string[] = [];
  const tell = (line: string): void => {
    told.push(line);
    writeFileSync(join(folder, "told"), "");
  };
  const script = 'pkill -KILL -P $PPID -f "[g]rep -ls"; until [ -e "$0/told" ]; do sleep 0.05; done; exit 7';
  expect(await termOf({}, { script, tell })).toMatchObject({ exit: { code: 7 } });
  expect(told).toEqual([expect.stringContaining("SIGKILL has ended the backup guard")]);
});

test("gives up a guard that never answers, and starts no command", async () => {
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = join(folder, "mute-node");
  // It ends with its input, as a guard does.
  writeFileSync(process.execPath, "#!/bin/sh\nexec cat > /dev/null\n", { mode: 0o755 });
  const clock: Clock = {
    ...systemClock,
    setTimer: (callback, ms) => systemClock.setTimer(callback, ms === FIRST_ANSWER_MS ? 0 : ms),
  };
  const outcome = await termOf({}, { clock });
  expect(outcome.ended?.message).toContain("the guard does not answer, without which nothing is run.");
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

test("orders the guard to ask, with the signal of the loss, and asks nothing itself", async () => {
  const order = vi.spyOn(GuardProcess.prototype, "order");
  const kill = vi.spyOn(process, "kill");
  const ended = Promise.withResolvers<Error>();
  let lostAt: MachineInstant | undefined;
  const checkpoint = (): void => {
    lostAt = machineNow();
    ended.resolve(LOST);
  };
  const outcome = await termOf({ ended: ended.promise, checkpoint }, { script: "exec sleep 1000" });
  expect(outcome.exit).toEqual({ code: 143 });
  const [last] = order.mock.lastCall!;
  expect(last).toMatchObject({ signal: "SIGTERM", graceMs: TIMING.graceMs });
  expect(isDue(last.termAt, machineNow())).toBe(true);
  expect(last.termAt.monotonicMs).toBeGreaterThanOrEqual(lostAt!.monotonicMs);
  expect(untilMs(last.killAt, last.termAt)).toBeGreaterThan(TIMING.graceMs);
  expect(kill.mock.calls.filter(([, signal]) => signal !== 0)).toEqual([]);
});

test("kills the command before it says that the guard has ended, and gives the leadership up", async () => {
  const kill = vi.spyOn(process, "kill");
  const order = vi.spyOn(GuardProcess.prototype, "order");
  const said: string[] = [];
  const killsBefore: boolean[] = [];
  const tell = (line: string): void => {
    said.push(line);
    killsBefore.push(kill.mock.calls.some(([, signal]) => signal === "SIGKILL"));
  };
  const checkpoint = (): void => {
    const [guard] = order.mock.contexts as [GuardProcess];
    guard.dismiss();
  };
  const outcome = await termOf({ checkpoint }, { script: "exec sleep 1000", tell });
  expect(outcome).toEqual({ exit: { code: 137 }, ended: undefined, overran: false });
  expect(said).toEqual([
    "resigned",
    "the guard has ended (exit code 0); the command was killed, because nothing may run without a guard.",
  ]);
  expect(killsBefore).toEqual([true, true]);
});

test("kills the command after its grace if the guard does not answer the order to end it", async () => {
  const ended = Promise.withResolvers<Error>();
  const checkpoint = (): void => {
    vi.spyOn(GuardProcess.prototype, "order").mockReturnValue(new Promise(() => {}));
    ended.resolve(LOST);
  };
  const outcome = await termOf({ ended: ended.promise, checkpoint }, { script: "exec sleep 1000", graceMs: 100 });
  expect(outcome).toMatchObject({ exit: { code: 137 }, overran: false });
});

test("kills the command itself if the guard answers the order to end it, and does not kill", async () => {
  const kill = vi.spyOn(process, "kill");
  const ended = Promise.withResolvers<Error>();
  const checkpoint = (): void => {
    vi.spyOn(GuardProcess.prototype, "order").mockResolvedValue(undefined);
    ended.resolve(LOST);
  };
  // The instants of the guard's last order are far away.
  const leadership = { ended: ended.promise, checkpoint, remainingMs: () => 600_000 };
  const outcome = await termOf(leadership, { script: "exec sleep 1000", graceMs: 100 });
  expect(outcome.exit).toEqual({ code: 137 });
  expect(kill.mock.calls.some(([, signal]) => signal === "SIGKILL")).toBe(true);
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

test("gives up processes one lease after the first SIGKILL, and leaves them to the guard", async () => {
  // Time passes only in the waits of `supervise`.
  const stepMs = 1_000;
  const [startMs, origin] = [Date.now(), process.hrtime.bigint()];
  let passedMs = 0;
  vi.spyOn(Date, "now").mockImplementation(() => startMs + passedMs);
  vi.spyOn(process.hrtime, "bigint").mockImplementation(() => origin + BigInt(passedMs) * 1_000_000n);
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    setTimer: (callback, ms) => {
      if (ms === FIRST_ANSWER_MS) return systemClock.setTimer(callback, ms);
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
    vi.spyOn(GuardProcess.prototype, "order").mockReturnValue(new Promise(() => {}));
    ending.abort(LOST);
    ended.resolve(LOST);
  };
  const leadership = { signal: ending.signal, ended: ended.promise, checkpoint };
  expect(await termOf(leadership, { script: "exec sleep 1000", clock })).toEqual({ exit: undefined, ended: LOST, overran: true });
  const signals = sent.filter(([, signal]) => signal !== 0);
  // The guard does not answer, so this process kills after the grace.
  expect(signals).toEqual(
    Array.from({ length: TIMING.leaseDurationMs / stepMs + 1 }, (_, count) => [TIMING.graceMs + count * stepMs, "SIGKILL"]),
  );
  expect(new Set(waits)).toEqual(new Set([50]));
  expect(dismiss).not.toHaveBeenCalled();
});

test("a stop request has the first signal as its reason", () => {
  using signals = new StopSignals(false);
  process.emit("SIGINT", "SIGINT");
  process.emit("SIGTERM", "SIGTERM");
  expect(signals.stopped.reason).toMatchObject({ name: "StopRequest", signal: "SIGINT", message: "SIGINT was received." });
});
