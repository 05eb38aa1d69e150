import type { Interval } from "@leasehold/core";

/**
 * What the metadata of an election's blob says. It is written under the lease, by its holder only; the blob's content
 * is never used. Keys start with `leasehold_`; others are left alone.
 */
export interface TermMetadata {
  /** The fencing token; 0 on a blob that has never been led. */
  readonly term: number;
  readonly termId?: string | undefined;
  readonly candidateId?: string | undefined;
  readonly value?: string | undefined;
  readonly leaseDurationMs?: number | undefined;
  readonly grid?: Grid | undefined;
}

/** When the holder renews: at `tick` by the service's clock (as well as the holder knows it), and every `intervalMs` from there. */
export interface Grid {
  readonly tick: Interval;
  readonly intervalMs: number;
}

/** What an administrator left beside a lease that is breaking: which term it ends, and why or for whom. */
export interface BreakNote {
  readonly term: number;
  readonly reason?: string | undefined;
  readonly transferTo?: string | undefined;
  readonly transferTimeoutMs?: number | undefined;
}

export type Metadata = Readonly<Record<string, string>>;

const SCHEMA = "1";
const PREFIX = "leasehold_";

/** The suffix of the sibling blob that carries a {@link BreakNote}. */
export const NOTE_SUFFIX = ".note";

/** The metadata of a blob whose other keys are `others`; text is percent-encoded, since headers carry ASCII only. */
export function encodeTerm(metadata: TermMetadata, others: Metadata): Record<string, string> {
  const { grid } = metadata;
  return {
    ...foreignKeys(others),
    ...encode({
      schema: SCHEMA,
      term: String(metadata.term),
      termid: metadata.termId,
      candidate: metadata.candidateId,
      value: metadata.value,
      lease: metadata.leaseDurationMs === undefined ? undefined : String(metadata.leaseDurationMs),
      grid: grid && `${Math.floor(grid.tick.lo)}_${Math.ceil(grid.tick.hi)}_${Math.round(grid.intervalMs)}`,
    }),
  };
}

/** The term that a blob's metadata tells of, or what is wrong with it. A blob without content and without our keys has never been led. */
export function decodeTerm(metadata: Metadata, contentLength: number): TermMetadata | { readonly problem: string } {
  const read = reader(metadata);
  const schema = read("schema");
  if (schema === undefined) {
    return contentLength === 0 ? { term: 0 } : { problem: "it has content, and no metadata of a lease" };
  }
  if (schema !== SCHEMA) return { problem: `its schema is '${schema}', and this version reads schema ${SCHEMA}` };
  const term = wholeNumber(read("term"));
  if (term === undefined) return { problem: "its term is not a whole number" };
  const leaseDurationMs = Number(read("lease"));
  return {
    term,
    termId: read("termid"),
    candidateId: read("candidate"),
    value: read("value"),
    leaseDurationMs: Number.isFinite(leaseDurationMs) ? leaseDurationMs : undefined,
    grid: decodeGrid(read("grid")),
  };
}

export function encodeNote(note: BreakNote): Record<string, string> {
  const { transferTimeoutMs } = note;
  return encode({
    note_schema: SCHEMA,
    note_term: String(note.term),
    note_reason: note.reason,
    note_to: note.transferTo,
    note_timeout: transferTimeoutMs === undefined ? undefined : String(transferTimeoutMs),
  });
}

/** The note that a sibling's metadata carries, if it is one; what cannot be read is no note. */
export function decodeNote(metadata: Metadata): BreakNote | undefined {
  const read = reader(metadata);
  const term = wholeNumber(read("note_term"));
  if (read("note_schema") !== SCHEMA || term === undefined) return undefined;
  const timeoutMs = Number(read("note_timeout"));
  return {
    term,
    reason: read("note_reason"),
    transferTo: read("note_to"),
    transferTimeoutMs: Number.isFinite(timeoutMs) ? timeoutMs : undefined,
  };
}

/** The keys of a blob's metadata that are not ours. */
export function foreignKeys(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.toLowerCase().startsWith(PREFIX)));
}

function encode(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const set = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  // An empty metadata value is not kept by every service version: a text always has its mark.
  return Object.fromEntries(set.map(([key, value]) => [PREFIX + key, encodeURIComponent(value) || EMPTY]));
}

const EMPTY = "%";

function reader(metadata: Metadata): (key: string) => string | undefined {
  const ours = new Map(Object.entries(metadata).map(([key, value]) => [key.toLowerCase(), value]));
  return (key) => {
    const value = ours.get(PREFIX + key);
    if (value === undefined) return undefined;
    if (value === EMPTY) return "";
    try {
      return decodeURIComponent(value);
    } catch {
      return undefined;
    }
  };
}

function decodeGrid(text: string | undefined): Grid | undefined {
  const numbers = (text ?? "").split("_").map(wholeNumber);
  const [lo, hi, intervalMs] = numbers;
  if (numbers.length !== 3 || lo === undefined || hi === undefined || !intervalMs || lo > hi) return undefined;
  return { tick: { lo, hi }, intervalMs };
}

/** The whole number from 0 that a text is, in decimal digits and nothing else. */
export function wholeNumber(text: string | undefined): number | undefined {
  const number = /^\d+$/.test(text ?? "") ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}
