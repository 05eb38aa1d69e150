import type { Blocker } from "../store/lease-snapshot.ts";
import type { LeaseRecord } from "./record-store.ts";

/** A hold, a reservation, a transfer or a pause. A candidate may acquire if every block in force makes an exception for it. */
export interface Bar {
  /** The block ends this many milliseconds after the nonce was written; null: it has no end. */
  readonly untilMs: number | null;
  /** The candidates that may acquire nevertheless; null: none. */
  readonly except: { readonly candidateId: string } | { readonly group: string } | null;
  readonly reason?: string | undefined;
  /** The id of the administrator's order that wrote the block. */
  readonly id?: string | undefined;
  /** By the wall clock of the process that wrote it, in milliseconds since the Unix epoch. For people. */
  readonly sinceMs?: number | undefined;
}

/** A record has at most one block of each kind, and never a transfer beside a reservation. */
const MAX_BARS = 3;

type BarKind = Exclude<Blocker["kind"], "done" | "lease">;

/** A block without an exception is a pause if it has no end, and else a hold. */
export function kindOf({ untilMs, except }: Bar): BarKind {
  if (!except) return untilMs === null ? "pause" : "hold";
  return "candidateId" in except ? "transfer" : "reservation";
}

export function barOf({ bars }: Pick<LeaseRecord, "bars">, kind: BarKind): Bar | undefined {
  return bars?.find((bar) => kindOf(bar) === kind);
}

export function transferTarget(record: Pick<LeaseRecord, "bars">): string | undefined {
  const except = barOf(record, "transfer")?.except;
  return except && "candidateId" in except ? except.candidateId : undefined;
}

/** Returns the hold of a release that comes before the minimum hold is over; empty if no time is left. */
export function holdFor(ms: number): readonly Bar[] {
  return ms > 0 ? [{ untilMs: ms, except: null }] : [];
}

export function withBars({ bars: _, ...record }: LeaseRecord, bars: readonly (Bar | undefined)[]): LeaseRecord {
  const present = bars.filter((bar) => bar !== undefined);
  return present.length > 0 ? { ...record, bars: present } : record;
}

export function areBars(field: unknown): boolean {
  if (field === undefined) return true;
  return Array.isArray(field) && field.length > 0 && field.length <= MAX_BARS && field.every(isBar);
}

function isBar(data: unknown): boolean {
  if (typeof data !== "object" || data === null) return false;
  const { untilMs, except, reason, id, sinceMs } = data as Partial<Record<keyof Bar, unknown>>;
  const isException = except === null || isText(fieldOf(except, "candidateId")) || isText(fieldOf(except, "group"));
  // A block with an exception must have an end: if that candidate never came, nobody would ever lead.
  const isEnding = untilMs === null ? except === null : isFinite(untilMs) && untilMs > 0;
  return (
    isException &&
    isEnding &&
    (reason === undefined || typeof reason === "string") &&
    (id === undefined || isText(id)) &&
    (sinceMs === undefined || isTime(sinceMs))
  );
}

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function isText(field: unknown): boolean {
  return typeof field === "string" && field !== "";
}

/** Reports whether JavaScript can write this time as a date. */
export function isTime(field: unknown): field is number {
  return isFinite(field) && Math.abs(field) <= 8.64e15;
}

function isFinite(field: unknown): field is number {
  return Number.isFinite(field);
}
