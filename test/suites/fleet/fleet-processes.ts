import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Entry } from "./database.ts";

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url));
const FLAGS = ["--disable-warning=ExperimentalWarning", "--conditions=@leasehold/source"];

/** A line that a worker has noted. Times are in milliseconds of the kernel's clock. */
export interface Line {
  readonly member: string;
  readonly began?: string;
  readonly wrote?: string;
  readonly refused?: string;
  readonly worked?: string;
  readonly term: number;
  readonly atMs: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The processes of a fleet. Each one has a log in the folder. */
export class FleetProcesses implements AsyncDisposable {
  readonly living = new Map<string, ChildProcess>();
  /** Those that have not ended, also if they were told to. */
  readonly #children = new Set<ChildProcess>();
  readonly #folder: string;
  readonly #address: string;
  readonly #shards: number;
  readonly #pauseMs: number;

  /** @param pauseMs the pause between two units of work on a shard. */
  constructor(folder: string, address: string, shards: number, pauseMs: number) {
    this.#folder = folder;
    this.#address = address;
    this.#shards = shards;
    this.#pauseMs = pauseMs;
  }

  start(name: string): void {
    const args = [WORKER, this.#address, name, join(this.#folder, `${name}.log`), String(this.#shards), String(this.#pauseMs)];
    const child = spawn(process.execPath, [...FLAGS, ...args], { stdio: ["ignore", "inherit", "inherit"] });
    this.living.set(name, child);
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.living.get(name)?.kill(signal);
  }

  /** Sends a signal that ends a process. Resolves once it has ended. */
  async end(name: string, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.living.get(name);
    this.living.delete(name);
    if (child) await ended(child, signal);
  }

  /** The lines of all processes, each as far as it is whole. */
  async lines(): Promise<Line[]> {
    const logs = (await readdir(this.#folder)).filter((name) => name.endsWith(".log"));
    const texts = await Promise.all(logs.map((name) => readFile(join(this.#folder, name), "utf8")));
    return texts.flatMap((text) => text.split("\n").filter((line) => line.endsWith("}"))).map((line) => JSON.parse(line) as Line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.living.clear();
    await Promise.all([...this.#children].map(async (child) => await ended(child, "SIGKILL")));
  }
}

async function ended(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

export interface Judgement {
  /** Pairs of units of work on one shard, in two terms, that overlap. */
  readonly overlaps: readonly string[];
  /** Entries of the ledger that came after one of a later term. */
  readonly stale: readonly Entry[];
  readonly starts: number;
  readonly wrote: number;
  readonly refused: number;
  /** True if no term of a shard began twice. */
  readonly areTermsOnce: boolean;
}

/** Judges what the processes have noted, and what the ledger holds. */
export function judgeFleet(lines: readonly Line[], entries: readonly Entry[]): Judgement {
  const worked = lines.filter((line) => line.worked !== undefined).toSorted((a, b) => a.fromMs - b.fromMs);
  const last = new Map<string, Line>();
  const overlaps: string[] = [];
  for (const line of worked) {
    const former = last.get(line.worked!);
    if (former && former.term !== line.term && former.untilMs > line.fromMs)
      overlaps.push(`${JSON.stringify(former)} and ${JSON.stringify(line)}`);
    if (!former || former.untilMs < line.untilMs) last.set(line.worked!, line);
  }
  const highest = new Map<string, number>();
  const stale = entries.filter(({ shard, term }) => {
    const before = highest.get(shard) ?? 0;
    highest.set(shard, Math.max(before, term));
    return term < before;
  });
  const began = lines.filter((line) => line.began !== undefined);
  return {
    overlaps,
    stale,
    starts: began.length,
    wrote: lines.filter((line) => line.wrote !== undefined).length,
    refused: lines.filter((line) => line.refused !== undefined).length,
    areTermsOnce: new Set(began.map((line) => `${line.began}@${line.term}`)).size === began.length,
  };
}
