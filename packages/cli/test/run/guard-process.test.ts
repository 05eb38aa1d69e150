/** The guards of a term, as their wrapper sees them. */
import childProcess, { type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { PassThrough } from "node:stream";
import { setImmediate as immediate } from "node:timers/promises";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { expect, onTestFinished, test, vi } from "vitest";
import type { GuardOrder } from "../../src/run/guard-order.ts";
import { GuardProcess } from "../../src/run/guard-process.ts";
import { after, machineNow } from "../../src/run/machine-clock.ts";
import { parseStat } from "../../src/run/process-table.ts";

const PATIENCE_MS = 5_000;
/** In nobody's environment: a backup guard that is left alone kills every process that has it there. */
const TERM_ID = `a-term-of-guard-process-test-${process.pid}`;
/** In the script that the backup guard runs. */
const BACKUP = "grep -ls";
const realSpawn = childProcess.spawn;

/** A process that does nothing by itself. */
class Still extends EventEmitter {
  readonly pid = 1;
  readonly signals: string[] = [];
  exitCode: number | null = null;
  signalCode: NodeJS.Signals | null = null;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();

  kill(signal: string): void {
    this.signals.push(signal);
  }
}

/** Has `start` called for each process that is to be started. */
function startBy(start: (file: string, ...rest: readonly unknown[]) => unknown): void {
  vi.spyOn(childProcess, "spawn").mockImplementation(start as typeof childProcess.spawn);
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
}

function really(file: string, ...rest: readonly unknown[]): ChildProcess {
  return realSpawn(file, ...(rest as [readonly string[], childProcess.SpawnOptions]));
}

function order(): Omit<GuardOrder, "seq"> {
  const instant = after(machineNow(), 600_000);
  return { termId: TERM_ID, signal: "SIGTERM", graceMs: 600_000, termAt: instant, killAt: instant };
}

/** The guards that this process has started, and that have not ended. */
async function guards(word: "run/guard.ts" | typeof BACKUP): Promise<readonly number[]> {
  return (await childrenOf([process.pid])).filter((pid) => commandLineOf(pid).includes(word));
}

test("a guard that leaves an order unanswered for its time is lost, however many come after it", async () => {
  vi.useFakeTimers({ toFake: ["hrtime", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const [last, child] = [new Still(), new Still()];
  startBy((file) => (file === "/bin/sh" ? last : child));
  const guard = new GuardProcess(PATIENCE_MS);
  let why: string | undefined;
  void guard.lost.then((reason) => (why = reason));
  const orderAfterMs = async (ms: number): Promise<void> => {
    vi.advanceTimersByTime(ms);
    void guard.order(order());
    await immediate();
  };
  const answer = async (text: string): Promise<void> => {
    child.stdout.write(text);
    await immediate();
  };

  // Who waits for its first answer decides for how long.
  await orderAfterMs(0);
  await orderAfterMs(2 * PATIENCE_MS);
  await answer("1\n2\n");
  await orderAfterMs(2 * PATIENCE_MS);
  await orderAfterMs(PATIENCE_MS - 1);
  await answer("3\n4\nasked\n");
  await orderAfterMs(PATIENCE_MS - 1);
  await orderAfterMs(PATIENCE_MS - 1);
  await answer("5\n");
  expect(why).toBe(undefined);
  await orderAfterMs(1);
  expect(why).toBe("does not answer");
});

test("a guard says that it has asked before it answers the next order, be it read in parts", async () => {
  const [last, child] = [new Still(), new Still()];
  startBy((file) => (file === "/bin/sh" ? last : child));
  const guard = new GuardProcess(PATIENCE_MS);
  const heard: boolean[] = [];
  const orders = [1, 2].map(async () => {
    await guard.order(order());
    heard.push(guard.hasAsked);
  });
  child.stdout.write("1\nas");
  await immediate();
  expect(heard).toEqual([false]);
  child.stdout.write("ked\n");
  await immediate();
  expect(heard).toEqual([false]);
  child.stdout.write("2\n");
  await Promise.all(orders);
  expect(heard).toEqual([false, true]);
  // It may have ended before it did.
  for (const end of [{ signalCode: "SIGKILL" }, { signalCode: null, exitCode: 1 }] as const) {
    Object.assign(child, end);
    expect(guard.hasAsked).toBe(false);
  }
});

test("neither guard takes the wrapper with it when it goes in the middle of what it is told", async () => {
  const [last, child] = [new Still(), new Still()];
  startBy((file) => (file === "/bin/sh" ? last : child));
  const guard = new GuardProcess(PATIENCE_MS);
  for (const { stdin } of [last, child]) stdin.destroy(new Error("write EPIPE"));
  await immediate();
  void guard.order(order());
  guard.dismiss();
  await immediate();
});

test("the guard alone holds the pipe of the backup guard, and both end when all is done", () => {
  const [last, child] = [new Still(), new Still()];
  const started: unknown[] = [];
  startBy((file, args) => {
    if (file === "/bin/sh") return last;
    started.push(args);
    return child;
  });
  const guard = new GuardProcess(PATIENCE_MS);
  expect(last.stdin.destroyed).toBe(true);
  guard.dismiss();
  expect(last.signals).toEqual(["SIGKILL"]);
  expect(String(child.stdin.read())).toBe("done\n");
  // The Node that runs the tests strips types by itself.
  expect(started).toEqual([[expect.stringMatching(/\/guard\.ts$/)]]);
});

test.runIf(process.platform === "linux")(
  "a guard that cannot be started is lost, whenever that shows, and no backup guard stays",
  async () => {
    const { execPath } = process;
    onTestFinished(() => void (process.execPath = execPath));
    process.execPath = "/no/such/node";
    const guard = new GuardProcess(PATIENCE_MS);
    expect(await guard.lost).toBe("cannot be started (ENOENT)");
    guard.dismiss();
    process.execPath = "no\0path";
    expect(() => new GuardProcess(PATIENCE_MS)).toThrow("cannot be started (ERR_INVALID_ARG_VALUE)");
    for (const pid of await guards(BACKUP)) await reachesState(pid, "gone");
  },
);

test.each([
  ["there is no shell", (...rest: readonly unknown[]) => really("/no/such/shell", ...rest)],
  [
    "no process can be started",
    () => {
      throw new Error("no more processes");
    },
  ],
])("a guard stands alone where %s for the backup guard", async (_what, startShell) => {
  startBy((file, ...rest) => (file === "/bin/sh" ? startShell(...rest) : really(file, ...rest)));
  const guard = new GuardProcess(PATIENCE_MS);
  await guard.order(order());
  guard.dismiss();
  expect(await guard.lost).toBe("has ended (exit code 0)");
});

test.runIf(process.platform === "linux")(
  "each has a session of its own, holds no folder, and inherits nothing but the path",
  async () => {
    const guard = new GuardProcess(PATIENCE_MS);
    onTestFinished(() => guard.dismiss());
    await guard.order(order());
    const pids = [...(await guards("run/guard.ts")), ...(await guards(BACKUP))];
    expect(pids.length).toBe(2);
    for (const pid of pids) {
      expect(parseStat(readFileSync(`/proc/${pid}/stat`, "latin1")).session).toBe(pid);
      expect(readlinkSync(`/proc/${pid}/cwd`)).toBe("/");
      expect(readFileSync(`/proc/${pid}/environ`, "latin1")).toBe(`PATH=${process.env["PATH"]}\0`);
    }
  },
);

/** A process of the term, in a group of its own, and a guard that has heard of it. */
async function guarded(killMs: number): Promise<{ readonly guard: GuardProcess; readonly command: ChildProcess }> {
  const termId = `${TERM_ID}-${killMs}`;
  const command = realSpawn("sleep", ["1000"], { detached: true, stdio: "ignore", env: { LEASEHOLD_TERM_ID: termId } });
  const guard = new GuardProcess(PATIENCE_MS);
  onTestFinished(() => {
    command.kill("SIGKILL");
    guard.dismiss();
  });
  await guard.order({ ...order(), termId, leader: { pid: command.pid! }, killAt: after(machineNow(), killMs) });
  return { guard, command };
}

test.runIf(process.platform === "linux")("a wrapper that lives has until the deadline once its guard is killed", async () => {
  const { guard, command } = await guarded(5_000);
  const begunMs = performance.now();
  signalAll(await guards("run/guard.ts"), "SIGKILL");
  expect(await guard.lost).toBe("has ended (SIGKILL)");
  await once(command, "exit");
  // It is killed then by the backup guard, though this process stands still.
  expect(command.signalCode).toBe("SIGKILL");
  expect(performance.now() - begunMs).toBeGreaterThan(3_000);
});

test.runIf(process.platform === "linux")(
  "a wrapper that has ended its command in time keeps the backup guard from acting",
  async () => {
    const { guard, command } = await guarded(600_000);
    const [backup] = await guards(BACKUP);
    signalAll(await guards("run/guard.ts"), "SIGKILL");
    await guard.lost;
    guard.dismiss();
    await reachesState(backup!, "gone");
    expect(command.exitCode ?? command.signalCode).toBe(null);
  },
);

test.runIf(process.platform === "linux")("no pattern for the tool, or for what it runs, finds the backup guard", async () => {
  await guarded(600_000);
  for (const pid of await guards(BACKUP)) expect(commandLineOf(pid)).not.toMatch(/leasehold|guard|node|lease|elect|a-term-of/);
});
