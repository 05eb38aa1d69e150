import type { Line, LineOf } from "@leasehold/test-kit/candidates/history";
import type { EpisodeLog, Injected, WorkerLog } from "./episode-log.ts";
import type { FaultKind } from "./faults.ts";

/** Faults that end with SIGKILL, or may end with it. */
const KILLING: ReadonlySet<FaultKind> = new Set(["kill", "freeze-and-kill", "restart"]);

/** Google's client rejects with this, without a handler, if a worker closes the client before its last transaction has ended. */
const CLOSED_TOO_SOON = /client has already been terminated/;

/** Returns processes that ended without an order, and output that a process must never write. */
export function unexpectedEnds({ workers, injected, endedMs }: EpisodeLog): readonly string[] {
  return workers.flatMap((log) => {
    const { worker, lines } = log;
    const stoppedMs = lines.find(({ event }) => event === "runSettled" || event === "runRejected")?.atMs ?? Infinity;
    const problems = lines.flatMap((line) => {
      if (line.event === "unhandled" && line.atMs > stoppedMs && CLOSED_TOO_SOON.test(line.error)) return [];
      if (line.event === "unhandled" || line.event === "listenerFailed") return [`${worker}: ${line.event}: ${line.error}`];
      if (line.event === "runRejected" && !line.error.startsWith("DeliberateFailure") && !overran(log, line))
        return [`${worker}'s run rejected: ${line.error}`];
      return [];
    });
    const exit = lines.find((line): line is LineOf<"exited"> => line.event === "exited");
    if (exit && exit.signal === null && !(exit.code === 0 && endedItself(log))) {
      problems.push(`${worker} ended with exit code ${exit.code}: ${log.stderr.trim()}`);
    }
    const mayBeKilled = exit?.signal === "SIGKILL" && (exit.atMs >= endedMs || wasKilled(worker, injected));
    // While Node exits, it handles no signal any more.
    const wasExiting = exit?.signal === "SIGTERM" && endedItself(log);
    if (exit?.signal && !mayBeKilled && !wasExiting) problems.push(`${worker} was ended by ${exit.signal}`);
    return problems;
  });
}

/**
 * Returns whether a stubborn task overran: it was told to stop after its lease had ended, and its elector rightly reported it as
 * pending.
 */
function overran({ lines }: WorkerLog, rejected: Line & { readonly error: string }): boolean {
  const before = lines.slice(0, lines.indexOf(rejected));
  const started = before.findLastIndex(({ event }) => event === "taskStarted");
  const term = before.slice(started).map(({ event }) => event);
  return rejected.error.startsWith("DrainTimeoutError") && term.includes("overrun") && !term.includes("taskSettled");
}

function wasKilled(worker: string, injected: readonly Injected[]): boolean {
  return injected.some((each) => each.worker === worker && KILLING.has(each.kind));
}

function endedItself({ lines }: WorkerLog): boolean {
  return lines.some(({ event }) => event === "runSettled" || event === "runRejected");
}
