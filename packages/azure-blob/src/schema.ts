import type { Reservation, Interval } from "@leasehold/core/provider";

/**
 * The metadata of an election's blob. Only the holder writes it, under the lease. The exception is an administrator's order while
 * the lease is free. The blob's content is never used. Keys start with `leasehold_`; other keys stay unchanged.
 */
export interface TermMetadata {
  /** The fencing token. It is 0 on a blob that has never had a leader. */
  readonly term: number;
  readonly termId?: string | undefined;
  readonly candidateId?: string | undefined;
  readonly value?: string | undefined;
  readonly leaseDurationMs?: number | undefined;
  readonly grid?: Grid | undefined;
  /** Reserves the election for a group once the term has ended. It counts from the last write of this metadata. */
  readonly reservation?: Reservation | undefined;
  /** Set if the term is over. Its holder has left, and breaks the lease: no candidate may acquire for this time. */
  readonly holdMs?: number | undefined;
  /** An order that was written while the lease was free, with the last write of this metadata. It has precedence over a note. */
  readonly order?: OrderNote | undefined;
  /** The last terms, as text. It is left out if it does not fit. */
  readonly history?: string | undefined;
}

/**
 * The instants of the holder's renewals: at `tick`, and every `intervalMs` from there. `tick` bounds an instant of the service's
 * clock, as well as the holder knows it.
 */
export interface Grid {
  readonly tick: Interval;
  readonly intervalMs: number;
}

/** An administrator's order: the reason of a break, or the target of a transfer. */
export interface OrderNote {
  /** Identifies the request, so that an order whose reply was lost is recognized. */
  readonly id: string;
  readonly reason?: string | undefined;
  readonly transfer?: { readonly candidateId: string; readonly timeoutMs: number } | undefined;
}

/** An administrator's order beside a lease that is breaking, and the term that it ends. */
export interface BreakNote extends OrderNote {
  readonly term: number;
  /**
   * The id of the order that was in the metadata before this one. This note cannot replace that one: under a lease, only the
   * holder can write the metadata.
   */
  readonly after?: string | undefined;
}

export type Metadata = Readonly<Record<string, string>>;

const SCHEMA = "1";
const PREFIX = "leasehold_";
/** The most bytes of a blob's metadata, names and values: https://learn.microsoft.com/rest/api/storageservices/set-blob-metadata */
const MAX_METADATA_BYTES = 8_192;

/** The suffix of the sibling blob that contains a {@link BreakNote}. */
export const NOTE_SUFFIX = ".note";

/** Returns the metadata of a blob whose other keys are `others`. Text is percent-encoded, because headers carry only ASCII. */
export function encodeTerm(metadata: TermMetadata, others: Metadata): Record<string, string> {
  const { grid, leaseDurationMs, reservation, holdMs, order, history } = metadata;
  const needed = {
    ...foreignKeys(others),
    ...encode({
      schema: SCHEMA,
      term: String(metadata.term),
      termid: metadata.termId,
      candidate: metadata.candidateId,
      value: metadata.value,
      lease: leaseDurationMs?.toString(),
      grid: grid && `${Math.floor(grid.tick.lo)}_${Math.ceil(grid.tick.hi)}_${Math.round(grid.intervalMs)}`,
      group: reservation?.group,
      reserved: reservation?.durationMs.toString(),
      hold: holdMs?.toString(),
      ...(order ? orderFields("order", order) : {}),
    }),
  };
  const all = { ...needed, ...encode({ history }) };
  return Object.entries(all).flat().join("").length <= MAX_METADATA_BYTES ? all : needed;
}

/**
 * Returns the term in a blob's metadata, or the problem with it. A blob without content and without Leasehold's keys has never
 * had a leader.
 */
export function decodeTerm(metadata: Metadata, contentLength: number): TermMetadata | { readonly problem: string } {
  const read = reader(metadata);
  const schema = read("schema");
  if (schema === undefined) {
    return contentLength === 0 ? { term: 0 } : { problem: "it has content, and no metadata of a lease" };
  }
  if (schema !== SCHEMA) return { problem: `its schema is '${schema}', and this version reads schema ${SCHEMA}` };
  const term = wholeNumber(read("term"));
  if (term === undefined) return { problem: "its term is not a whole number" };
  const [group, durationMs] = [read("group"), duration(read("reserved"))];
  return {
    term,
    termId: read("termid"),
    candidateId: read("candidate"),
    value: read("value"),
    leaseDurationMs: duration(read("lease")),
    grid: decodeGrid(read("grid")),
    reservation: group === undefined || durationMs === undefined ? undefined : { group, durationMs },
    holdMs: duration(read("hold")),
    order: readOrder("order", read),
    history: read("history"),
  };
}

export function encodeNote(note: BreakNote): Record<string, string> {
  return encode({
    note_schema: SCHEMA,
    note_term: String(note.term),
    note_after: note.after,
    ...orderFields("note", note),
  });
}

/** Returns the note in a sibling's metadata; `undefined` if it cannot be read as a note. */
export function decodeNote(metadata: Metadata): BreakNote | undefined {
  const read = reader(metadata);
  const term = wholeNumber(read("note_term"));
  const order = readOrder("note", read);
  return read("note_schema") === SCHEMA && term !== undefined && order
    ? { ...order, term, after: read("note_after") }
    : undefined;
}

function orderFields(prefix: string, { id, reason, transfer }: OrderNote): Record<string, string | undefined> {
  return {
    [`${prefix}_id`]: id,
    [`${prefix}_reason`]: reason,
    [`${prefix}_to`]: transfer?.candidateId,
    [`${prefix}_timeout`]: transfer?.timeoutMs.toString(),
  };
}

function readOrder(prefix: string, read: (key: string) => string | undefined): OrderNote | undefined {
  const [id, candidateId, timeoutMs] = [read(`${prefix}_id`), read(`${prefix}_to`), duration(read(`${prefix}_timeout`))];
  if (id === undefined) return undefined;
  const transfer = candidateId === undefined || timeoutMs === undefined ? undefined : { candidateId, timeoutMs };
  return { id, reason: read(`${prefix}_reason`), transfer };
}

/** Returns the metadata whose keys are not Leasehold's. */
export function foreignKeys(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.toLowerCase().startsWith(PREFIX)));
}

function encode(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const set = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  // Some service versions drop an empty metadata value, so an empty text is written as a mark.
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

function duration(text: string | undefined): number | undefined {
  const ms = Number(text);
  return Number.isFinite(ms) ? ms : undefined;
}

/** Returns the whole number, 0 or above, of a text of decimal digits; `undefined` for any other text. */
export function wholeNumber(text: string | undefined): number | undefined {
  const number = /^\d+$/.test(text ?? "") ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}
