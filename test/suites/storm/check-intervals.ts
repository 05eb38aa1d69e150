import type { LeaseSnapshot } from "@leasehold/core";
import type { IntervalLine } from "./interval-worker.ts";

const RAN: ReadonlySet<string> = new Set(["done", "failed"]);
/** The outcomes of an occurrence that no host does any more. */
const OVER: ReadonlySet<string> = new Set([...RAN, "overlap", "cancelled", "paused", "missed"]);

/**
 * Checks one tick by the store's final record and by the lines of all hosts. The tick must be over, once, and no attempt may follow.
 * Its result must be that of the last attempt. A host that was killed may have printed fewer lines.
 */
export function checkTick(id: string, record: LeaseSnapshot | undefined, lines: readonly IntervalLine[]): string[] {
  if (record?.bar?.kind !== "done") return [`'${id}' is lost: its record is ${JSON.stringify(record)}`];
  const { term, bar } = record;
  const own = lines.filter(({ occurrence }) => occurrence === id);
  const ends = own.flatMap((line) => (line.event === "outcome" && OVER.has(line.outcome) ? [line] : []));
  const problems: string[] = [];
  if (ends.length > 1) problems.push(`'${id}' was over ${ends.length} times: ${JSON.stringify(ends)}`);
  const [end] = ends;
  if (end && end.attempt !== term) problems.push(`'${id}' was over by attempt ${end.attempt}, and its last one is ${term}`);
  const later = own.find(({ attempt }) => attempt > term);
  if (later) problems.push(`'${id}' had attempt ${later.attempt} after its last one, ${term}`);
  const { result, failure, skipped } = bar.completion ?? {};
  const hasEnded = own.some(({ event, attempt }) => event === "ended" && attempt === term);
  if (result !== undefined && result !== `attempt ${term}`)
    problems.push(`'${id}' has the result of another attempt: ${JSON.stringify(result)}`);
  if (result !== undefined && !hasEnded) problems.push(`'${id}' is done, and its attempt ${term} did not end its work`);
  if (end?.outcome === "done" && result === undefined) problems.push(`'${id}' was done, and has no result`);
  const reason = end && !RAN.has(end.outcome) ? end.outcome : undefined;
  if (end && reason !== skipped) problems.push(`'${id}' is ${end.outcome}, and its record says it was skipped as '${skipped}'`);
  if ((end?.outcome === "failed") !== (failure !== undefined) && end)
    problems.push(`'${id}' is ${end.outcome}, and its record has '${failure}'`);
  return problems;
}
