/**
 * The process that `startDaemon` starts. It prepares a directory, and runs a daemon on it. It kills and restarts the daemon when
 * its parent says so. When its parent ends or dismisses it, it ends the daemon and removes the directory. It is an entry point:
 * import only types from here.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync } from "node:fs";
import { chown, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { IN_MEMORY } from "./memory-folder.ts";
import { reachesState } from "../processes/process-state.ts";
import { killTree, pauseTree, signalAll } from "../processes/process-tree.ts";

/** A program and its arguments. In these `{directory}` and `{port}` stand for the values that the keeper chooses. */
export type Command = readonly [program: string, ...args: readonly string[]];

/** The settings of a daemon. */
export interface DaemonPlan {
  /** The middle part of the directory's name, between `leasehold-` and a random part. The keeper creates the directory empty. */
  readonly directory: string;
  /** The user who owns the directory and runs the programs, if not the present one. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Files to put into the directory first: their contents by their names. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** Puts the directory where Linux keeps files in memory, for a daemon that waits for its disk. @defaultValue false */
  readonly inMemory?: boolean | undefined;
  /** Creates the data, anywhere in the directory, if the daemon does not do that itself. */
  readonly prepare?: Command | undefined;
  readonly serve: Command;
  /** The port on which it has to serve. @defaultValue a free port */
  readonly port?: number | undefined;
  /** A regular expression for the line of stderr with which the daemon says that it serves. */
  readonly ready: string;
  /** The signal that ends it fast, and leaves nothing outside of its directory. */
  readonly endWith: "SIGKILL" | "SIGQUIT";
}

/** The parent's orders, one at a time: `kill` ends the daemon and keeps its directory; `start` starts it on the same port. */
export type DaemonOrder = "kill" | "start";

/** The keeper's message to its parent, at first and after each order: the daemon's port and process id. */
export interface DaemonServes {
  readonly port: number;
  readonly pid: number;
}

const plan = JSON.parse(String(process.argv[2])) as DaemonPlan;
let directory: string | undefined;
let running: ChildProcess | undefined;
let log = "";
let ending: Promise<void> | undefined;
let serves: DaemonServes | undefined;

process.on("disconnect", () => void end(0));
process.on("message", (order: DaemonOrder) => void obey(order));
if (!process.connected) process.exit();
// These signals reach every process in the terminal's foreground. This process ends after its parent, because it has to clean up.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
// The parent may be gone, and with it the reader of stderr.
process.stderr.on("error", () => {});

try {
  const root = plan.inMemory && existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir();
  directory = mkdtempSync(join(root, `leasehold-${plan.directory}-`));
  if (plan.user !== undefined) await chown(directory, plan.user.uid, plan.user.gid);
  for (const [name, content] of Object.entries(plan.files ?? {})) await writeFile(join(directory, name), content);
  if (plan.prepare !== undefined) await prepare(plan.prepare);
  await serveAndTell(plan.port);
} catch (error) {
  await fail(error);
}

async function prepare(command: Command): Promise<void> {
  const child = start(command, 0);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${command[0]} has failed, exit code ${code}.`);
}

async function serveAndTell(onPort?: number): Promise<void> {
  serves = await serve(onPort);
  running?.once("exit", dies);
  process.send?.(serves);
}

async function obey(order: DaemonOrder): Promise<void> {
  try {
    if (order === "start") return await serveAndTell(serves?.port);
    running?.off("exit", dies);
    await killTree(Number(running?.pid));
    process.send?.(serves);
  } catch (error) {
    await fail(error);
  }
}

function dies(): void {
  void end(1);
}

async function fail(error: unknown): Promise<void> {
  process.stderr.write(`${String(error)}\n`);
  await end(1);
}

/** Starts the daemon. If another process has taken the port meanwhile, starts it again, on another port if that is allowed. */
async function serve(onPort?: number): Promise<DaemonServes> {
  for (let attempt = 1; ; attempt++) {
    log = "";
    const port = onPort ?? (await freePort());
    const child = start(plan.serve, port);
    if (await saysReady(child)) return { port, pid: Number(child.pid) };
    if (attempt === 5 || !/address already in use/i.test(log)) throw new Error(`${plan.serve[0]} has ended.`);
  }
}

function start([program, ...args]: Command, port: number): ChildProcess {
  if (ending !== undefined) throw new Error("The parent has ended.");
  const filled = args.map((arg) => arg.replaceAll("{directory}", String(directory)).replaceAll("{port}", String(port)));
  const child = spawn(program, filled, {
    cwd: directory,
    env: { ...process.env, LC_ALL: "C" },
    stdio: ["ignore", "ignore", "pipe"],
    ...plan.user,
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    log = (log + chunk).slice(-20_000);
    process.stderr.write(chunk);
  });
  running = child;
  return child;
}

/** Resolves with true once the daemon says that it serves, with false if it ends. */
async function saysReady(child: ChildProcess): Promise<boolean> {
  const ready = new RegExp(plan.ready);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.stderr?.on("data", () => {
    if (ready.test(log)) resolve(true);
  });
  child.once("close", () => resolve(false));
  return await promise;
}

function end(code: number): Promise<void> {
  return (ending ??= cleanUp().finally(() => process.exit(code)));
}

async function cleanUp(): Promise<void> {
  const pid = running?.pid;
  if (pid !== undefined && running?.exitCode === null && running.signalCode === null) {
    if (plan.endWith === "SIGQUIT") await quit(pid);
    await killTree(pid);
  }
  if (directory !== undefined) await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Asks a daemon to end at once, and gives it a second. A paused process gets signals before anything else. */
async function quit(pid: number): Promise<void> {
  const pids = await pauseTree(pid);
  signalAll(pids, "SIGQUIT");
  signalAll(pids, "SIGCONT");
  await Promise.race([Promise.all(pids.map(async (each) => reachesState(each, "gone"))), delay(1_000)]);
}
