import type { Blocker } from "../store/lease-snapshot.ts";
import type { Reservation } from "../store/lease-store.ts";
import type { LeaseRecord } from "./record-store.ts";

/**
 * Keeps candidates from acquiring beside the lease: a hold, a reservation, a transfer, or a pause. A candidate may acquire once each
 * bar that is in force makes an exception of it.
 */
export interface Bar {
  /** The bar ends so many milliseconds after the nonce was written; null: it has no end. */
  readonly untilMs: number | null;
  /** The candidates that may acquire all the same; null: none. */
  readonly except: { readonly candidateId: string } | { readonly group: string } | null;
  /** The reason of a pause, for people. */
  readonly reason?: string | undefined;
  /** The id of the administrator's order that wrote it. */
  readonly id?: string | undefined;
  /** The time of a pause by the wall clock of its administrator, in milliseconds since the Unix epoch. For people. */
  readonly sinceMs?: number | undefined;
}

/** A record has one bar of each kind at most, and never a transfer beside a reservation. */
export const MAX_BARS = 3;

type BarKind = Exclude<Blocker["kind"], "done" | "lease">;

/** Only a pause has no end, and a hold no exception. */
export function kindOf({ untilMs, except }: Bar): BarKind {
  if (!except) return untilMs === null ? "pause" : "hold";
  return "candidateId" in except ? "transfer" : "reservation";
}

/** Returns the bar of this kind that a record has. */
export function barOf({ bars }: Pick<LeaseRecord, "bars">, kind: BarKind): Bar | undefined {
  return bars?.find((bar) => kindOf(bar) === kind);
}

/** Returns the candidate that an administrator wants to lead next. */
export function transferTarget(record: Pick<LeaseRecord, "bars">): string | undefined {
  const except = barOf(record, "transfer")?.except;
  return except && "candidateId" in except ? except.candidateId : undefined;
}

/** Returns the bar of a release that comes before the minimum hold is over; none without a time. */
export function holdFor(ms: number): readonly Bar[] {
  return ms > 0 ? [{ untilMs: ms, except: null }] : [];
}

export function reservationFor({ group, durationMs }: Reservation): Bar {
  return { untilMs: durationMs, except: { group } };
}

/** Returns the record with these bars in place of its own. */
export function withBars({ bars: _, ...record }: LeaseRecord, bars: readonly (Bar | undefined)[]): LeaseRecord {
  const present = bars.filter((bar) => bar !== undefined);
  return present.length > 0 ? { ...record, bars: present } : record;
}

/** Reports whether stored data is a list of bars, or absent. */
export function areBars(field: unknown): boolean {
  if (field === undefined) return true;
  return Array.isArray(field) && field.length > 0 && field.length <= MAX_BARS && field.every(isBar);
}

function isBar(data: unknown): boolean {
  if (typeof data !== "object" || data === null) return false;
  const { untilMs, except, reason, id, sinceMs } = data as Partial<Record<keyof Bar, unknown>>;
  const isException = except === null || isText(fieldOf(except, "candidateId")) || isText(fieldOf(except, "group"));
  // Without an end, but for a candidate: nobody would ever lead if that one never came.
  const isEnding = untilMs === null ? except === null : isFinite(untilMs) && untilMs > 0;
  return (
    isException &&
    isEnding &&
    (reason === undefined || typeof reason === "string") &&
    (id === undefined || isText(id)) &&
    (sinceMs === undefined || isTime(sinceMs))
  );
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function isText(field: unknown): boolean {
  return typeof field === "string" && field !== "";
}

/** A time that JavaScript can write as a date. */
function isTime(field: unknown): boolean {
  return isFinite(field) && Math.abs(field) <= 8.64e15;
}

function isFinite(field: unknown): field is number {
  return Number.isFinite(field);
}
