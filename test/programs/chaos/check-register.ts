import type { LineOf } from "@leasehold/test-kit/candidates/history";
import type { EpisodeLog } from "./episode-log.ts";
import type { Entry, Run } from "@leasehold/test-kit/candidates/register";

/** A write that its worker has announced. */
interface Sent extends Entry {
  readonly sentMs: number;
}

/**
 * Returns entries that the service should have refused:
 *
 * - an entry of an older term than one before it
 * - an entry of another worker's term
 * - an entry that was sent after its term was known to be over: released, or followed by another term
 *
 * If only a seal closes the fence, a term counts as over from the next term's seal on.
 */
export function staleWrites(log: EpisodeLog): readonly string[] {
  const isAtomic = log.fence === "atomic";
  const lines = log.workers.flatMap((worker) => worker.lines);
  const closings = lines.flatMap((line) => {
    if (line.event === (isAtomic ? "taskStarted" : "sealed")) return [{ atMs: line.atMs, beforeTerm: line.term }];
    if (isAtomic && line.event === "stoppedLeading" && line.released) return [{ atMs: line.atMs, beforeTerm: line.term + 1 }];
    return [];
  });
  const known = sentEntries(log);
  let highest: Run | undefined;
  return log.register.flatMap((run) => {
    const before = highest;
    if (!before || run.term >= before.term) highest = run;
    if (before && run.term < before.term) return entriesOf(run).map((entry) => `${shown(entry)} came after ${shown(before)}`);
    if (before && run.term === before.term && run.worker !== before.worker) {
      return [`${shown(run)} and ${shown(before)} are of the same term`];
    }
    return entriesOf(run).flatMap((entry) => {
      const sent = known.get(keyOf(entry));
      const closed = closings.find(({ atMs, beforeTerm }) => sent && entry.term < beforeTerm && atMs < sent.sentMs);
      if (!sent || !closed) return [];
      const lateMs = (sent.sentMs - closed.atMs).toFixed(1);
      return [`${shown(entry)} was sent ${lateMs} ms after its term was over, and was accepted`];
    });
  });
}

/**
 * Returns writes that were confirmed and are missing. Also returns entries that no worker has sent, or that are in the register
 * twice or out of order.
 */
export function lostWrites(log: EpisodeLog): readonly string[] {
  const known = sentEntries(log);
  const problems: string[] = [];
  const found = new Set<string>();
  const lastOf = new Map<string, number>();
  for (const run of log.register) {
    for (const entry of entriesOf(run)) {
      const key = keyOf(entry);
      if (found.has(key)) problems.push(`${shown(entry)} is there twice`);
      if (!known.has(key)) problems.push(`${shown(entry)} is there, and nobody has sent it`);
      found.add(key);
    }
    const writer = `${run.term} ${run.worker}`;
    const last = lastOf.get(writer) ?? 0;
    if (run.from <= last) problems.push(`${shown(run)} came after entry ${last} of the same term`);
    lastOf.set(writer, Math.max(last, run.to));
  }
  for (const { worker, lines } of log.workers) {
    for (const line of lines) {
      if (line.event !== "appended" || line.outcome !== "ok") continue;
      const entry = { term: line.term, worker, sequence: line.sequence };
      if (!found.has(keyOf(entry))) problems.push(`${shown(entry)} was confirmed, and is not there`);
    }
  }
  return problems;
}

function sentEntries({ workers }: EpisodeLog): ReadonlyMap<string, Sent> {
  const sent = workers.flatMap(({ worker, lines }) =>
    lines
      .filter((line): line is LineOf<"appending"> => line.event === "appending")
      .map(({ term, sequence, atMs }): Sent => ({ term, worker, sequence, sentMs: atMs })),
  );
  return new Map(sent.map((each) => [keyOf(each), each]));
}

function entriesOf({ term, worker, from, to }: Run): readonly Entry[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, at) => ({ term, worker, sequence: from + at }));
}

function keyOf({ term, worker, sequence }: Entry): string {
  return `${term} ${worker} ${sequence}`;
}

function shown(what: Run | Entry): string {
  const numbers = "sequence" in what ? `${what.sequence}` : what.from === what.to ? `${what.from}` : `${what.from} to ${what.to}`;
  return `entry ${numbers} of ${what.worker} in term ${what.term}`;
}
