import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printHistories, type Histories } from "@leasehold/test-kit/candidates/history";
import { judge, problemsOf } from "./check.ts";
import type { EpisodeLog } from "./episode-log.ts";

const FOLDER = ".results/chaos";

/** Writes all data of an episode to a file for people, below the working directory. Returns the path. */
export async function keepHistory(log: EpisodeLog): Promise<string> {
  const path = join(FOLDER, `${log.store}-${log.seed}.txt`);
  await mkdir(FOLDER, { recursive: true });
  await writeFile(path, historyOf(log));
  return path;
}

function historyOf(log: EpisodeLog): string {
  const histories: Histories = new Map(log.workers.map(({ worker, lines }) => [worker, lines]));
  const originMs = Math.min(...log.workers.flatMap(({ lines }) => lines.map(({ atMs }) => atMs)));
  const since = (ms: number | undefined): string => (ms === undefined ? "the end" : (ms - originMs).toFixed(1));
  return [
    `${log.store}, seed ${log.seed}, a lease of ${log.leaseMs} ms, a leader back within ${log.leaderBackMs.toFixed(0)} ms on an idle machine`,
    ...section("Wrong", problemsOf(judge(log))),
    ...section(
      "Faults",
      log.injected.map(
        ({ kind, worker, fromMs, toMs }) => `${kind} of ${worker ?? "the store"} from ${since(fromMs)} to ${since(toMs)}`,
      ),
    ),
    ...section(
      "All faults over",
      log.healedMs.map((healedMs, round) => `round ${round}: ${since(healedMs)}`),
    ),
    ...section(
      "Register",
      log.register.map(({ term, worker, from, to }) => `term ${term} ${worker} ${from} to ${to}`),
    ),
    ...section(
      "Standard error",
      log.workers.filter(({ stderr }) => stderr !== "").map(({ worker, stderr }) => `${worker}: ${stderr}`),
    ),
    ...section("History", [printHistories(histories)]),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return ["", `${title}:`, ...(lines.length === 0 ? ["nothing"] : lines)];
}
