import type { PastTerm } from "../store/lease-snapshot.ts";
import { isTime, transferTarget } from "./bars.ts";
import type { LeaseRecord } from "./record-store.ts";

/** A record keeps at most this many terms, the present one included. */
const MOST_TERMS = 5;
/** The longest text, in bytes. A DynamoDB item of usual size then stays below 1 KB, for which a write costs one unit. */
const MOST_BYTES = 400;

/** A term in the text of `history`. Times are in milliseconds since the Unix epoch. The present term has no end. */
type Entry = readonly [term: number, candidateId: string, sinceMs: number, end?: PastTerm["end"], untilMs?: number | undefined];

/** The last term of an election, as its record shows it. */
export interface TermRecord
  extends Pick<LeaseRecord, "term" | "termId" | "history">, Partial<Pick<LeaseRecord, "bars" | "broken">> {
  /** The end of the term, if the store's record does not show it. */
  readonly end?: PastTerm["end"];
}

/** Returns the history of `found`, with a new term at the end that begins now. */
export function beginTerm(found: TermRecord | undefined, term: number, candidateId: string, wallMs: number): string {
  const past = found ? ended(found) : [];
  return textOf([...past, [term, candidateId, Math.round(wallMs)]]);
}

/** Returns the history of a term that its holder gives up now. */
export function endTerm(record: TermRecord, wallMs: number): string | undefined {
  const entries = entriesOf(record);
  return entries.length > 0 ? textOf(ended(record, Math.round(wallMs))) : undefined;
}

/** Returns an expired record, with the end of its term in the history. Later orders no longer change that end. */
export function closeExpired<T extends TermRecord>(record: T): T {
  return record.history === undefined ? record : { ...record, history: textOf(ended(record)) };
}

/** Returns the terms that a record keeps, the oldest first. Empty if its text cannot be read: no decision depends on it. */
export function historyOf(record: TermRecord): readonly PastTerm[] {
  const entries = entriesOf(record);
  const isGoingOn = record.termId !== null && entries.at(-1)?.[0] === record.term;
  return (isGoingOn ? entries : ended(record)).map(([term, candidateId, sinceMs, end, untilMs]) => ({
    term,
    candidateId,
    sinceMs,
    ...(end === undefined ? {} : { end }),
    ...(untilMs === undefined ? {} : { untilMs }),
  }));
}

/** Returns the entries, with an end for the last one. This end is unknown if a version without history has led since. */
function ended(record: TermRecord, untilMs?: number): readonly Entry[] {
  return entriesOf(record).map((entry) => {
    const [term, candidateId, sinceMs, end] = entry;
    if (end !== undefined) return entry;
    if (term !== record.term) return [term, candidateId, sinceMs, "unknown"];
    const closed = [term, candidateId, sinceMs, endOf(record, untilMs)] as const;
    return untilMs === undefined ? closed : [...closed, untilMs];
  });
}

function endOf(record: TermRecord, untilMs: number | undefined): PastTerm["end"] {
  if (record.end) return record.end;
  if (record.broken) return "broken";
  if (untilMs === undefined && record.termId !== null) return "expired";
  return transferTarget(record) === undefined ? "released" : "transferred";
}

/** Drops the oldest entries until the rest is short enough. The last one stays if it fits by itself. */
function textOf(entries: readonly Entry[]): string {
  for (let kept = entries.slice(-MOST_TERMS); ; kept = kept.slice(1)) {
    const text = JSON.stringify(kept);
    if (kept.length === 0 || new TextEncoder().encode(text).length <= MOST_BYTES) return text;
  }
}

function entriesOf({ history }: TermRecord): readonly Entry[] {
  if (history === undefined) return [];
  try {
    const data: unknown = JSON.parse(history);
    return Array.isArray(data) && data.every(isEntry) ? data : [];
  } catch {
    return [];
  }
}

const ENDS: ReadonlyArray<PastTerm["end"]> = [undefined, "released", "transferred", "broken", "expired", "unknown"];

function isEntry(data: unknown): data is Entry {
  if (!Array.isArray(data)) return false;
  const [term, candidateId, sinceMs, end, untilMs] = data as unknown[];
  return (
    Number.isSafeInteger(term) &&
    typeof candidateId === "string" &&
    isTime(sinceMs) &&
    ENDS.includes(end as PastTerm["end"]) &&
    (untilMs === undefined || isTime(untilMs))
  );
}
