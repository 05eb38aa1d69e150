import type { DeliveryLog, FailedWrite } from "./witness.ts";

/** The store's final record of an occurrence. */
export interface OccurrenceRecord {
  readonly election: string;
  /** The number of claims, or 0 without a record. */
  readonly term: number;
  readonly done: boolean;
}

export interface OccurrencesLog {
  readonly records: readonly OccurrenceRecord[];
  readonly deliveries: readonly DeliveryLog[];
  readonly failedWrites: readonly FailedWrite[];
}

/**
 * Checks that every occurrence was done once, by the store's own record and by the reports of its deliveries. A delivery may have
 * done it without a report, if its process died, or the store did not answer, after the end of its handler.
 */
export function checkOccurrences({ records, deliveries, failedWrites }: OccurrencesLog): string[] {
  return records.flatMap((record) => {
    const own = deliveries.filter(({ election }) => election === record.election);
    const lost = failedWrites.filter(({ election }) => election === record.election).length;
    return [...checkDone(record, own), ...checkAttempts(record, own, lost)];
  });
}

function checkDone({ election, term, done }: OccurrenceRecord, deliveries: readonly DeliveryLog[]): string[] {
  if (!done) return [`'${election}' is not done, after ${term} attempts`];
  const finishers = deliveries.filter(({ settled }) => settled?.outcome === "ran");
  if (finishers.length > 1) return [`'${election}' was done ${finishers.length} times: by ${list(finishers)}`];
  const [finisher] = finishers;
  const last = deliveries.find(({ acquired }) => acquired?.term === term);
  if (!finisher) {
    const mayHaveDoneIt = last?.returnedMs !== undefined && (last.diedMs !== undefined || last.settled?.outcome === "failed");
    return mayHaveDoneIt ? [] : [`'${election}' is done, and nobody has done it: its last attempt was ${last?.id ?? "nobody's"}`];
  }
  if (finisher !== last)
    return [`${finisher.id} says that it did '${election}', and the last attempt was ${last?.id ?? "another"}`];
  // Find every attempt after the done one by its time as well, in case the record is wrong.
  const doneMs = finisher.settled?.atMs ?? Infinity;
  return deliveries
    .filter(({ started }) => started && started.atMs > doneMs)
    .map(({ id }) => `${id} started '${election}' after ${finisher.id} had done it`);
}

function checkAttempts({ election, term }: OccurrenceRecord, deliveries: readonly DeliveryLog[], lostWrites: number): string[] {
  const attempts = deliveries.flatMap(({ acquired }) => (acquired ? [acquired.term] : []));
  const beyond = attempts
    .filter((attempt) => attempt > term)
    .map((attempt) => `'${election}' had an attempt ${attempt} after its last, ${term}`);
  // A claim without a report: the process died before it learnt of it, or the reply was lost.
  const unheard = deliveries.filter(({ acquired, diedMs }) => !acquired && diedMs !== undefined).length + lostWrites;
  const missing = Array.from({ length: term }, (_, at) => at + 1).filter((attempt) => !attempts.includes(attempt));
  if (missing.length <= unheard) return beyond;
  return [...beyond, `'${election}' has no attempt ${missing.join(", ")}, which only ${unheard} could have made without a word`];
}

function list(deliveries: readonly DeliveryLog[]): string {
  return deliveries.map(({ id, acquired }) => `${id} (attempt ${acquired?.term})`).join(" and ");
}
