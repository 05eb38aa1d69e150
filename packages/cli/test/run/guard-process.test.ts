/** The guards of a term, from the wrapper's side. */
import childProcess, { type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir, uptime as systemUptimeS } from "node:os";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { setImmediate as immediate } from "node:timers/promises";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { BUSYBOX, programMissing, programPath } from "@leasehold/test-kit/backends/programs";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BackupGuard } from "../../src/run/backup-guard.ts";
import type { GuardOrder } from "../../src/run/guard-order.ts";
import { GuardProcess } from "../../src/run/guard-process.ts";
import { after, machineNow } from "../../src/run/machine-clock.ts";
import { parseStat } from "../../src/run/process-table.ts";

const PATIENCE_MS = 5_000;
/** No process has this id in its environment. A backup guard that acts would kill each process that has it. */
const TERM_ID = `a-term-of-guard-process-test-${process.pid}`;
/** A text in the backup guard's script. */
const BACKUP = "grep -ls";
const realSpawn = childProcess.spawn;

/** A process that does nothing. */
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

/** Makes `spawn` call `start` for each process. */
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

/** Returns the script of a backup guard, and starts none. */
function backupScript(): string {
  let script = "";
  startBy((_file, args) => {
    script = String((args as readonly string[])[1]);
    return new Still();
  });
  void new BackupGuard();
  return script;
}

function order(): Omit<GuardOrder, "seq"> {
  const instant = after(machineNow(), 600_000);
  return { termId: TERM_ID, signal: "SIGTERM", graceMs: 600_000, termAt: instant, killAt: instant };
}

/** Returns the guards that this process has started and that still run. */
async function guards(word: "run/guard.ts" | typeof BACKUP): Promise<readonly number[]> {
  return (await childrenOf([process.pid])).filter((pid) => commandLineOf(pid).includes(word));
}

test("a guard that does not answer an order in time is lost, even if more orders follow", async () => {
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
    // The guard's answers may arrive within two turns of the event loop.
    for (let turns = 0; turns < 3; turns += 1) await immediate();
  };
  const answer = async (text: string): Promise<void> => {
    child.stdout.write(text);
    await immediate();
  };

  // Before the first answer, the caller limits the wait.
  await orderAfterMs(0);
  await orderAfterMs(2 * PATIENCE_MS);
  await answer("1\n2\n");
  await orderAfterMs(2 * PATIENCE_MS);
  await orderAfterMs(PATIENCE_MS - 1);
  await answer("3\n4\n");
  await orderAfterMs(PATIENCE_MS - 1);
  await orderAfterMs(PATIENCE_MS - 1);
  await answer("5\n");
  await orderAfterMs(PATIENCE_MS - 1);
  expect(why).toBe(undefined);
  await orderAfterMs(1);
  expect(why).toBe("does not answer");
});

test("a guard whose late answer arrives after a stall of the wrapper is not lost, even if that arrives in parts", async () => {
  vi.useFakeTimers({ toFake: ["hrtime", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const [last, child] = [new Still(), new Still()];
  startBy((file) => (file === "/bin/sh" ? last : child));
  const guard = new GuardProcess(PATIENCE_MS);
  const first = guard.order(order());
  child.stdout.write("1");
  await immediate();
  child.stdout.write("\n");
  await first;
  const second = guard.order(order());
  vi.advanceTimersByTime(PATIENCE_MS);
  void guard.order(order());
  child.stdout.write("2\n");
  await second;
  for (let turns = 0; turns < 3; turns += 1) await immediate();
  expect(guard.isLost).toBe(false);
});

test("a guard that does not answer is lost, even if no other order follows", async () => {
  const [last, child] = [new Still(), new Still()];
  startBy((file) => (file === "/bin/sh" ? last : child));
  const guard = new GuardProcess(20);
  const first = guard.order(order());
  child.stdout.write("1\n");
  await first;
  void guard.order(order());
  expect(await guard.lost).toBe("does not answer");
});

test("the wrapper survives if a guard ends in the middle of an order", async () => {
  const [last, child] = [new Still(), new Still()];
  startBy((file) => (file === "/bin/sh" ? last : child));
  const guard = new GuardProcess(PATIENCE_MS);
  for (const { stdin } of [last, child]) stdin.destroy(new Error("write EPIPE"));
  await immediate();
  void guard.order(order());
  guard.dismiss();
  await immediate();
});

test("only the guard holds the pipe of the backup guard, and both end at the dismissal", () => {
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
  expect(last.signals).toEqual(["SIGUSR2"]);
  expect(String(child.stdin.read())).toBe("done\n");
  // The Node.js of the tests strips types without an option.
  expect(started).toEqual([[expect.stringMatching(/\/guard\.ts$/)]]);
});

test.runIf(process.platform === "linux")("a guard that cannot be started is lost, and no backup guard stays", async () => {
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = "/no/such/node";
  const guard = new GuardProcess(PATIENCE_MS);
  expect(await guard.lost).toBe("cannot be started (ENOENT)");
  guard.dismiss();
  process.execPath = "no\0path";
  expect(() => new GuardProcess(PATIENCE_MS)).toThrow("cannot be started (ERR_INVALID_ARG_VALUE)");
  for (const pid of await guards(BACKUP)) await reachesState(pid, "gone");
});

test.each([
  ["there is no shell", (...rest: readonly unknown[]) => really("/no/such/shell", ...rest)],
  [
    "no process can be started",
    () => {
      throw new Error("no more processes");
    },
  ],
])("a guard works without a backup guard if %s", async (_what, startShell) => {
  startBy((file, ...rest) => (file === "/bin/sh" ? startShell(...rest) : really(file, ...rest)));
  const guard = new GuardProcess(PATIENCE_MS);
  await guard.order(order());
  guard.dismiss();
  expect(await guard.lost).toBe("has ended (exit code 0)");
});

test.runIf(process.platform === "linux")(
  "each guard has a session of its own, runs in /, and inherits only the path",
  async () => {
    // Guards of earlier tests may still be ending.
    const before = await childrenOf([process.pid]);
    const guard = new GuardProcess(PATIENCE_MS);
    onTestFinished(() => guard.dismiss());
    await guard.order(order());
    const pids = [...(await guards("run/guard.ts")), ...(await guards(BACKUP))].filter((pid) => !before.includes(pid));
    expect(pids.length).toBe(2);
    for (const pid of pids) {
      expect(parseStat(readFileSync(`/proc/${pid}/stat`, "latin1")).session).toBe(pid);
      expect(readlinkSync(`/proc/${pid}/cwd`)).toBe("/");
      // Dash adds `PWD` for bash, which takes its place.
      const environment = readFileSync(`/proc/${pid}/environ`, "latin1").replace("PWD=/\0", "");
      expect(environment).toBe(`PATH=${process.env["PATH"]}\0`);
    }
  },
);

test.runIf(process.platform === "linux")("a backup guard survives in the first second after the system's start", async () => {
  const uptime = join(mkdtempSync(join(tmpdir(), "leasehold-uptime-")), "uptime");
  onTestFinished(() => rmSync(dirname(uptime), { recursive: true }));
  writeFileSync(uptime, "0.98 0.00\n");
  const script = backupScript().replaceAll("/proc/uptime", uptime);
  const backup = realSpawn("/bin/sh", ["-c", script, script], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const exited = once(backup, "exit");
  backup.stdin.end(`order ${TERM_ID} 60000 60000 .\ndone\n`);
  expect(await exited).toEqual([0, null]);
});

/** Starts a process of the term in a group of its own, and a guard that knows of it. */
async function guarded(killMs: number): Promise<{
  readonly guard: GuardProcess;
  readonly command: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly helper: number;
}> {
  const termId = `${TERM_ID}-${killMs}`;
  // The helper has a group of its own and no environment, but has stayed in the command's session.
  const script = "set -m; env -i sleep 1000 & echo $!; wait";
  const env = { LEASEHOLD_TERM_ID: termId };
  const command = realSpawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"], env });
  // On a machine that stalls, the guard may kill the command before the test goes on.
  const exited = once(command, "exit");
  const [said] = (await once(command.stdout!, "data")) as [Buffer];
  const helper = Number(said);
  const guard = new GuardProcess(PATIENCE_MS);
  onTestFinished(() => {
    signalAll([command.pid!, helper], "SIGKILL");
    guard.dismiss();
  });
  await guard.order({ ...order(), termId, leader: { pid: command.pid! }, killAt: after(machineNow(), killMs) });
  return { guard, command, exited, helper };
}

test.runIf(process.platform === "linux")("a live wrapper has time until the deadline once its guard is killed", async () => {
  const begunMs = performance.now();
  const { guard, command, exited, helper } = await guarded(5_000);
  signalAll(await guards("run/guard.ts"), "SIGKILL");
  expect(await guard.lost).toBe("has ended (SIGKILL)");
  await exited;
  // Then the backup guard kills the command, although this process does nothing.
  expect(command.signalCode).toBe("SIGKILL");
  await reachesState(helper, "gone");
  expect(performance.now() - begunMs).toBeGreaterThan(3_000);
});

test.runIf(process.platform === "linux")("a backup guard does not act if the wrapper has ended its command in time", async () => {
  const { guard, command } = await guarded(600_000);
  const [backup] = await guards(BACKUP);
  signalAll(await guards("run/guard.ts"), "SIGKILL");
  await guard.lost;
  guard.dismiss();
  await reachesState(backup!, "gone");
  expect(command.exitCode ?? command.signalCode).toBe(null);
});

/** The number of the last user that a test has made up. No process has it before. */
let accounts = 100_000 + process.pid * 10;

interface Backup {
  readonly shell?: readonly string[];
  readonly most?: number;
  readonly path?: string;
  readonly script?: string;
}

/** Starts the script of a backup guard in `shell`, and a command. `most` is the number of processes that their user may have. */
function backedUp({ shell = ["/bin/sh"], most, path, script = backupScript() }: Backup) {
  // The limit does not count for root.
  const account = most !== undefined && process.getuid?.() === 0 ? { uid: (accounts += 1), gid: accounts } : {};
  const limited = most === undefined ? shell : ["bash", "-c", `ulimit -u ${most}; exec "$@"`, "bash", ...shell];
  const [file, ...words] = [...limited, "-c", script, script] as unknown as [string, ...string[]];
  const started = { detached: true, cwd: "/", ...account };
  const command = realSpawn("sleep", ["1000"], { ...started, stdio: "ignore" });
  const env = { PATH: path ?? process.env["PATH"] };
  const backup = realSpawn(file, words, { ...started, env, stdio: ["pipe", "ignore", "ignore", "pipe"] });
  onTestFinished(() => signalAll([command.pid!, backup.pid!], "SIGKILL"));
  const [guard, wrapper] = [backup.stdin as Socket, backup.stdio[3] as Socket];
  // The shell may have ended before the test does.
  for (const pipe of [guard, wrapper]) pipe.on("error", () => {});
  return {
    pid: backup.pid!,
    guard,
    wrapper,
    killed: once(command, "exit"),
    left: once(backup, "exit"),
    line: (untilMs: number): string =>
      `order ${TERM_ID} ${Math.floor((systemUptimeS() * 1_000 + untilMs) / 10)} ${Math.floor(untilMs / 10)} ${command.pid} .\n`,
    isSpared: (): boolean => (command.exitCode ?? command.signalCode) === null,
  };
}

/** Shells whose `read` has a limit. Where `sh` is dash, bash takes its place. BusyBox finds no bash. */
const SHELLS: ReadonlyArray<readonly [string, Backup]> = [
  ["sh", { shell: ["/bin/sh"] }],
  ...((await isMissing(programMissing(BUSYBOX)))
    ? []
    : ([["BusyBox", { shell: [await programPath(BUSYBOX), "sh"], path: "/nowhere" }]] as const)),
];

describe.runIf(process.platform === "linux").each(SHELLS)("a backup guard in %s", (_name, shell) => {
  test("ends the command after a frozen guard, by the last order, and leaves", async () => {
    const { guard, killed, left, line } = backedUp(shell);
    // The input stays open, as that of a frozen guard.
    guard.write(line(600_000));
    guard.write(line(1_000));
    expect(await killed).toEqual([null, "SIGKILL"]);
    expect(await left).toEqual([0, null]);
  });

  test("spares a command with a newer order, also if it hears both late, and leaves at the line `done`", async () => {
    const { guard, left, line, isSpared } = backedUp(shell);
    guard.write(`${line(-1_000)}${line(600_000)}done\n`);
    expect(await left).toEqual([0, null]);
    expect(isSpared()).toBe(true);
  });

  test("ends the command of the last whole line once guard and wrapper are gone, before the kill instant", async () => {
    const { guard, wrapper, killed, left, line } = backedUp(shell);
    const other = line(600_000).replace(/\d+ \.$/m, "99999999 .");
    guard.end(line(600_000) + other.slice(1) + other.replace(" .", ""));
    wrapper.destroy();
    expect(await killed).toEqual([null, "SIGKILL"]);
    expect(await left).toEqual([0, null]);
  });
});

test.runIf(process.platform === "linux")("a backup guard that has lost its clock goes by the time in the orders", async () => {
  const reading = "read -r up rest </proc/uptime";
  const script = backupScript();
  expect(script).toContain(reading);
  const { guard, killed, line } = backedUp({ script: script.replace(reading, `[ -z "$id" ] && ${reading}`) });
  guard.write(line(600_000));
  guard.write(line(1_000));
  expect(await killed).toEqual([null, "SIGKILL"]);
});

const isDash = process.platform === "linux" && realpathSync("/bin/sh").endsWith("dash");

test.runIf(isDash)("a backup guard in dash alone ends the command once its guard is gone", async () => {
  const { guard, killed, left, line } = backedUp({ script: backupScript().replaceAll("/bin/bash", "/nowhere/bash") });
  guard.end(line(600_000));
  expect(await killed).toEqual([null, "SIGKILL"]);
  expect(await left).toEqual([0, null]);
});

// The command and the shell are two processes.
test.runIf(process.platform === "linux").each([2, 3])(
  "a backup guard whose user may have %i processes ends the command after a frozen guard",
  async (most) => {
    const { guard, killed, line } = backedUp({ most });
    guard.write(line(600_000));
    guard.write(line(1_000));
    expect(await killed).toEqual([null, "SIGKILL"]);
  },
);

test.runIf(process.platform === "linux")(
  "a backup guard that a stop has frozen does not count that time as silence",
  async () => {
    const { pid, guard, left, line, isSpared } = backedUp({});
    guard.write(line(600_000));
    signalAll([pid], "SIGSTOP");
    await reachesState(pid, "stopped");
    guard.write(line(-1_000));
    guard.write(line(600_000));
    signalAll([pid], "SIGCONT");
    guard.write("done\n");
    expect(await left).toEqual([0, null]);
    expect(isSpared()).toBe(true);
  },
);

test.runIf(process.platform === "linux")(
  "a backup guard kills the group of the command, also if it can search for no process",
  async () => {
    // There is no `grep` and no `sleep`.
    const { guard, wrapper, killed, line } = backedUp({ path: "/nowhere" });
    wrapper.destroy();
    guard.end(line(600_000));
    expect(await killed).toEqual([null, "SIGKILL"]);
  },
);

test.runIf(process.platform === "linux")("a backup guard goes on after an error that ends a shell", async () => {
  // A shell also ends if it can start no process. An order whose kill instant is no number has the same effect on any machine.
  const { guard, killed, left, line } = backedUp({});
  guard.end(line(600_000) + line(0).replace(/ \d+ /, " 0x "));
  expect(await killed).toEqual([null, "SIGKILL"]);
  expect(await left).toEqual([0, null]);
});

test.runIf(process.platform === "linux")("no pattern for the tool or for its command matches the backup guard", async () => {
  await guarded(600_000);
  for (const pid of await guards(BACKUP)) {
    expect(commandLineOf(pid)).not.toMatch(/leasehold|guard|node|lease|elect|a-term-of/);
    // Otherwise the limits of its `read` stand still while it is stopped.
    expect(commandLineOf(pid)).toMatch(/^(\/bin\/sh\W-c|\/bin\/bash\W--posix\W--norc\W-c)\W/);
    // A command that is bash is found by this name.
    await vi.waitUntil(() => readFileSync(`/proc/${pid}/comm`, "latin1") === "sh\n", { timeout: 300_000 });
  }
});
