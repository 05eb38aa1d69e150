import type { LeaseRecord } from "@leasehold/core/provider";

/** The info that a Leasehold candidate keeps beside its key, in JSON. Its termId is the hex of its lease. */
export interface CandidateInfo {
  readonly schema: 1;
  readonly candidateId: string;
  readonly leaseDurationMs: number;
  /** True if it has published the value of its key; otherwise that value is its candidateId. */
  readonly published: boolean;
}

/** A note that ends a term, in JSON. It is on the lease of that candidate's key, so that it lasts as long as the key. */
export type Note =
  | { readonly schema: 1; readonly kind: "break"; readonly id: string; readonly reason: string }
  /** The holder has left, and no candidate may follow before its key is gone. */
  | { readonly schema: 1; readonly kind: "hold"; readonly holdMs: number };

/** Returns the info, or `undefined` if the text is not Leasehold's. */
export function decodeInfo(text: string | undefined): CandidateInfo | undefined {
  const info = parsed(text) as Partial<CandidateInfo> | undefined;
  const isOurs = info?.schema === 1 && typeof info.candidateId === "string" && typeof info.leaseDurationMs === "number";
  return isOurs ? (info as CandidateInfo) : undefined;
}

/** Returns the note in a text. A note that cannot be read ends the term as well. */
export function decodeNote(text: string): Note {
  const note = parsed(text) as Partial<Extract<Note, { kind: "break" }>> | Partial<Extract<Note, { kind: "hold" }>> | undefined;
  if (note?.kind === "hold" && typeof note.holdMs === "number") return { schema: 1, kind: "hold", holdMs: note.holdMs };
  const { id = "", reason = "the note cannot be read" } = note?.kind === "break" ? note : {};
  return { schema: 1, kind: "break", id, reason };
}

/**
 * Returns the object in an occurrence's record, or `undefined` if the text is not a JSON object. The engine refuses an object
 * that is not Leasehold's.
 */
export function decodeRecord(text: string): Partial<LeaseRecord> | undefined {
  return parsed(text);
}

/** Returns the durations that a process may have to wait after a record's nonce was written. */
export function durationsOf({ termId, leaseDurationMs, bars }: Partial<LeaseRecord> = {}): readonly number[] {
  const untilMs = Array.isArray(bars) ? bars.map((bar: { untilMs?: unknown } | null) => bar?.untilMs) : [];
  const waits = [termId === null ? undefined : leaseDurationMs, ...untilMs];
  return [...new Set(waits.filter((ms) => typeof ms === "number"))];
}

function parsed(text: string | undefined): object | undefined {
  try {
    const value: unknown = JSON.parse(text as string);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
