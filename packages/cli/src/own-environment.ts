import { createInterface } from "node:readline/promises";
import { systemClock } from "@leasehold/core/provider";
import { ignoresHangup } from "./run/hangup.ts";
import { NpxWatch } from "./run/npx-watch.ts";
import { shellStatus } from "./run/shell-process.ts";
import { storeFromUrl, usedStoreFromUrl } from "./store-url/store-from-url.ts";
import type { Output, ProcessEnvironment } from "./verb.ts";

/** Returns the environment of this process, with `stderr` for its messages to people. */
export function ownSurroundings(stderr: Output): ProcessEnvironment {
  return {
    env: process.env,
    platform: process.platform,
    stdout: outputOf(process.stdout),
    stderr,
    clock: systemClock,
    openStore: storeFromUrl,
    openUsedStore: usedStoreFromUrl,
    ask: process.stdin.isTTY && stderr.isTerminal ? ask : undefined,
    untilStopped,
    watchNpx,
  };
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return { isTerminal: stream.isTTY, write: (text) => void stream.write(text) };
}

async function ask(question: string): Promise<boolean> {
  // Ctrl-D and Ctrl-C close the interface, because readline handles both itself. Either one means no.
  const ended = new AbortController();
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.once("close", () => ended.abort());
  try {
    return (await lines.question(question, { signal: ended.signal })).trim().toLowerCase() === "yes";
  } catch {
    return false;
  } finally {
    lines.close();
  }
}

function watchNpx(tell: (line: string) => void): Disposable {
  const onGone = (): void => {
    process.kill(process.pid, "SIGTERM");
    tell("npx has ended, which started this process; it stops as well. Start leasehold without npx under a supervisor.");
  };
  const parentOfShell = (pid: number): number | undefined => {
    const parent = shellStatus(pid, "PPid");
    return parent === undefined ? undefined : Number(parent);
  };
  return new NpxWatch({ env: process.env, clock: systemClock, parent: () => process.ppid, parentOfShell, onGone });
}

let stopped: AbortController | undefined;

function untilStopped(): AbortSignal {
  if (stopped === undefined) {
    const controller = new AbortController();
    stopped = controller;
    const abort = (): void => controller.abort();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, abort);
    // Node has undone what `nohup` asked for, so HUP would end this process.
    process.on("SIGHUP", ignoresHangup({ env: process.env, parent: process.ppid }) ? () => {} : abort);
  }
  return stopped.signal;
}
