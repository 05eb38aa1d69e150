/**
 * The process that `startDaemon` starts: it prepares a directory, runs a daemon on it, and when its parent ends or
 * dismisses it, ends the daemon and removes the directory. It is an entry point: import nothing but types from here.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { chown, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { reachesState } from "../processes/process-state.ts";
import { killTree, pauseTree, signalAll } from "../processes/process-tree.ts";

/** A program and its arguments, in which `{directory}` and `{port}` stand for what the keeper chooses. */
export type Command = readonly [program: string, ...args: readonly string[]];

/** The settings of a daemon. */
export interface DaemonPlan {
  /** The directory's name, after `leasehold-` and before something random. It is made for it, and empty. */
  readonly directory: string;
  /** Who owns the directory and runs the programs, if it is not the user who runs this. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Files to put into the directory first: their contents by their names. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** Makes the data, anywhere in the directory. */
  readonly prepare: Command;
  readonly serve: Command;
  /** A regular expression for the line of stderr with which the daemon says that it serves. */
  readonly ready: string;
  /** The signal that ends it fast, with nothing left outside of its directory. */
  readonly endWith: "SIGKILL" | "SIGQUIT";
}

/** The keeper's one message to its parent: where the daemon serves, and who it is. */
export interface DaemonServes {
  readonly port: number;
  readonly pid: number;
}

const plan = JSON.parse(String(process.argv[2])) as DaemonPlan;
let directory: string | undefined;
let running: ChildProcess | undefined;
let log = "";
let ending: Promise<void> | undefined;

process.on("disconnect", () => void end(0));
if (!process.connected) process.exit();
// They reach every process in the terminal's foreground. This one ends after its parent, or else nobody would clean up.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
// The parent may be gone, and with it whoever reads this.
process.stderr.on("error", () => {});

try {
  directory = mkdtempSync(join(tmpdir(), `leasehold-${plan.directory}-`));
  if (plan.user !== undefined) await chown(directory, plan.user.uid, plan.user.gid);
  for (const [name, content] of Object.entries(plan.files ?? {})) await writeFile(join(directory, name), content);
  await prepare();
  const serves = await serve();
  running?.once("exit", () => void end(1));
  process.send?.(serves);
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  await end(1);
}

async function prepare(): Promise<void> {
  const child = start(plan.prepare, 0);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${plan.prepare[0]} has failed, exit code ${code}.`);
}

/** Starts the daemon; again, on another port, if somebody has taken the port in between. */
async function serve(): Promise<DaemonServes> {
  for (let attempt = 1; ; attempt++) {
    log = "";
    const port = await freePort();
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function end(code: number): Promise<void> {
  return (ending ??= cleanUp().finally(() => process.exit(code)));
}

async function cleanUp(): Promise<void> {
  const pid = running?.pid;
  if (pid !== undefined) {
    if (plan.endWith === "SIGQUIT") await quit(pid);
    await killTree(pid);
  }
  if (directory !== undefined) await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Asks a daemon to end at once, and gives it a second. Signals arrive before what else waits for a paused process. */
async function quit(pid: number): Promise<void> {
  const pids = await pauseTree(pid);
  signalAll(pids, "SIGQUIT");
  signalAll(pids, "SIGCONT");
  await Promise.race([Promise.all(pids.map(async (each) => reachesState(each, "gone"))), delay(1_000)]);
}
