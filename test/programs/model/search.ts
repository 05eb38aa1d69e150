import { execFile } from "node:child_process";
import { cp, mkdir, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Check } from "./check.ts";
import type { Programs } from "./programs.ts";

/** Far longer than any search takes on a busy machine. A search that takes longer is broken. */
const TIME_LIMIT_MS = 1_800_000;
const MEMORY_LIMIT_MB = 2_000;

/** The result of a search through the states of the model. */
export interface Found {
  /** The violated claim; undefined if every claim holds. */
  readonly violated: string | undefined;
  /** Every state was visited, or a violation was found. Nothing was cut off. */
  readonly complete: boolean;
  readonly shown: ReadonlySet<string>;
  readonly states: number;
  readonly depth: number;
  readonly memoryMb: number;
  /** The shortest run that violates the claim, in the words of the model. */
  readonly run: readonly string[];
  readonly seconds: number;
}

/**
 * Makes a program of the model with Spin and the check's macros, and runs it. The program visits all states, breadth first, so a
 * violation is found by a shortest run. It keeps each state whole.
 *
 * @param folder an empty folder for this check alone.
 * @throws an error with all printed output, if the model cannot be compiled or the search gives no result.
 */
export async function search(check: Check, programs: Programs, folder: string): Promise<Found> {
  const startMs = performance.now();
  await mkdir(folder);
  const model = join(import.meta.dirname, `${check.model ?? "lease"}.pml`);
  for (const file of await readdir(dirname(model))) {
    if (file.endsWith(".pml")) await cp(join(dirname(model), file), join(folder, file));
  }
  await run(programs.spin, [...check.macros.map((macro) => `-D${macro}`), "-a", basename(model)], folder);
  const exhaustive = check.violates === undefined;
  const options = ["-DSAFETY", "-DNOREDUCE", "-DBFS", "-DCOLLAPSE", `-DMEMLIM=${MEMORY_LIMIT_MB}`];
  // Better optimization would take longer to compile than it saves.
  await run(programs.gcc, ["-w", exhaustive ? "-O1" : "-O0", ...options, "-o", "pan", "pan.c"], folder);
  const pan = join(folder, "pan");
  const printed = await run(pan, [exhaustive ? "-w24" : "-w20"], folder);
  const errors = numberIn(printed, /errors: (\d+)/);
  const replayed = errors > 0 ? await run(pan, ["-r"], folder) : "";
  return {
    violated: errors === 0 ? undefined : (/^VIOLATED (.*?)\s*(?:pan:.*)?$/m.exec(replayed)?.[1] ?? "the model itself"),
    complete:
      !/max search depth too small|out of memory|MEMLIM bound|Bit statespace/.test(printed) &&
      (errors > 0 || !/not completed/.test(printed)),
    shown: new Set([...printed.matchAll(/^SHOWN (.+)$/gm)].map((match) => match[1] ?? "")),
    states: numberIn(printed, /(\d+) states, stored/),
    depth: numberIn(printed, /depth reached (\d+)/),
    memoryMb: numberIn(printed, /([\d.]+)\s+total actual memory usage/),
    run: replayed
      .split("\n")
      .filter((line) => /^(?:STEP|TICK|VALID|STORE) /.test(line))
      // On the same lines, Spin's own listing of the run follows.
      .map((line) => line.replace(/\s*\d+:\s+proc\s.*$/, "").trimEnd()),
    seconds: (performance.now() - startMs) / 1_000,
  };
}

function numberIn(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`The search has printed no ${String(pattern)}:\n${text}`);
  return Number(found);
}

async function run(program: string, args: readonly string[], folder: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, [...args], {
      cwd: folder,
      timeout: TIME_LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error([message, stdout, stderr].filter(Boolean).join("\n"), { cause: error });
  }
}
