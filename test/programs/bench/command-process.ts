import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { commandLine } from "@leasehold/test-kit/processes/leasehold-command";
import { childrenOf, killTree } from "@leasehold/test-kit/processes/process-tree";

/** The costs of the command in a process of its own. */
export interface CommandProcess extends AsyncDisposable {
  /** The time from before its start until it led. */
  readonly toLeadingMs: number;
  /** Returns the resident memory of the command and its helper processes, in bytes, without its child's. */
  residentBytes(): Promise<number>;
}

/** The verbs that campaign. */
export type Campaigning = "run" | "serve";

/** Starts the command from its sources. Resolves once it leads. */
export async function startLeading(verb: Campaigning, args: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandProcess> {
  const startedMs = performance.now();
  // Its child prints a line, and runs only while the command leads.
  const rest = verb === "run" ? ["--", "sh", "-c", "echo leads; exec sleep 100000"] : ["--http", "127.0.0.1:0"];
  const [file, ...line] = commandLine([verb, ...args, ...rest]);
  const child = spawn(file, line, {
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (verb === "run") await firstLine(child.stdout, /^leads$/m);
  else await leadsOverHttp((await firstLine(child.stderr, / on (\S+)\n/))[1] ?? "");
  return {
    toLeadingMs: performance.now() - startedMs,
    residentBytes: async () => await residentBytes(Number(child.pid)),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      await killTree(Number(child.pid));
      await ended;
    },
  };
}

async function firstLine(stream: ChildProcess["stdout"], pattern: RegExp): Promise<RegExpExecArray> {
  let said = "";
  // The rest of the stream is read too, because a write to a stream without a reader fails.
  for await (const chunk of (stream as Readable).iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    said += chunk.toString();
    const found = pattern.exec(said);
    if (!found) continue;
    stream?.resume();
    return found;
  }
  throw new Error(`The command has ended: ${said}`);
}

async function leadsOverHttp(url: string): Promise<void> {
  const response = await fetch(new URL("/events", url));
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes('"state":"leading"')) return;
  }
}

/** Returns the resident memory of the Node processes among its processes. The user's child does not count. */
async function residentBytes(pid: number): Promise<number> {
  const pids = [pid, ...(await childrenOf([pid]))];
  const sizes = await Promise.all(
    pids.map(async (each) => {
      const status = await readFile(`/proc/${each}/status`, "utf8");
      const [, kilobytes = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
      return /^Name:\s+(node|MainThread)/m.test(status) ? Number(kilobytes) * 1_024 : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
