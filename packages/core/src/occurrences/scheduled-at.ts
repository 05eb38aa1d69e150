import { ConfigurationError } from "../reporting/errors.ts";
import { Journal, type LoggerOption } from "../reporting/journal.ts";
import { DEFAULT_RETENTION_MS } from "./kept-occurrences.ts";
import { isoOf } from "../time/clock.ts";
import { LAST_MS, scheduledMsOf } from "./occurrence.ts";

const PASS_WHEN_DUE = "Pass the time at which the occurrence was due: a Date, such a text, or milliseconds since 1970.";
/** How early an occurrence may be done, on a host whose clock is ahead. In milliseconds. */
const MAX_EARLY_MS = 3_600_000;
/** An occurrence counts as forgotten this much before its retention ends: clocks differ, and it may have been done early. */
const FORGOTTEN_EARLY_MS = 2 * MAX_EARLY_MS;
/** A scheduled time with a fraction of a second that is this close to the present is taken for the present. In milliseconds. */
const PRESENT_MS = 5;

/** Returns when an occurrence was due, in milliseconds since the Unix epoch. @throws {ConfigurationError} for a bad instant. */
export function checkScheduledAt(scheduledAt: unknown, wallMs: number, retentionMs: number = DEFAULT_RETENTION_MS): number {
  const ms = instantOf(scheduledAt);
  checkWhenDue("scheduledAt", { scheduledMs: ms, retentionMs, wallMs });
  return ms;
}

/** The time at which an occurrence was due, the time for which it is remembered, and this host's clock. In milliseconds. */
export interface WhenDue {
  readonly scheduledMs: number;
  readonly retentionMs: number;
  readonly wallMs: number;
}

/** Reports whether a store may have forgotten that an occurrence was done. */
export function mayBeForgotten({ scheduledMs, retentionMs, wallMs }: WhenDue): boolean {
  return wallMs - scheduledMs > retentionMs - FORGOTTEN_EARLY_MS;
}

/** @throws {ConfigurationError} for an instant that is too far in the future, or so old that the store may have forgotten it. */
export function checkWhenDue(what: string, due: WhenDue): void {
  const { scheduledMs: ms, retentionMs, wallMs } = due;
  const lateMs = wallMs - ms;
  if (mayBeForgotten(due)) {
    const meaning =
      Math.abs(wallMs - ms * 1_000) < retentionMs
        ? `Were seconds meant? Then it is ${ms * 1_000}.`
        : `The store may have forgotten by now whether it was done: retentionMs is ${retentionMs}, and the last two hours of it do not count.`;
    throw new ConfigurationError(`${what} is ${isoOf(ms)}, ${hours(lateMs)} ago by this host's clock. ${meaning}`);
  }
  if (-lateMs > MAX_EARLY_MS) {
    throw new ConfigurationError(
      `${what} is ${isoOf(ms)}, ${hours(-lateMs)} from now by this host's clock. It must be the time at which the occurrence was due, not the next one's.`,
    );
  }
}

const warned = new WeakSet<Journal>();

/** Warns of a time that looks like the present one, because each host would then have an occurrence of its own. */
export function warnOfPresentTime(name: string, scheduledMs: number, wallMs: number, logger: LoggerOption): void {
  const journal = Journal.to(logger);
  if (scheduledMs % 1_000 === 0 || Math.abs(wallMs - scheduledMs) > PRESENT_MS || warned.has(journal)) return;
  warned.add(journal);
  const text = `scheduledAt of '${name}' is ${isoOf(scheduledMs)}, which looks like the present time: on another host that is another occurrence, and both would be done. Pass the time at which it was due by its schedule.`;
  journal.warn("LEASEHOLD_NOT_WHEN_DUE", "warn", text, { name });
}

function instantOf(scheduledAt: unknown): number {
  const where = "scheduledAt";
  if (typeof scheduledAt === "string") return scheduledMsOf(scheduledAt, where, PASS_WHEN_DUE);
  // Recognised by its method, because a date may come from another realm.
  const isDate = typeof (scheduledAt as Partial<Date> | null)?.getTime === "function";
  const ms: unknown = isDate ? (scheduledAt as Date).getTime() : scheduledAt;
  if (typeof ms === "number" && ms >= 0 && ms <= LAST_MS) return ms;
  throw new ConfigurationError(`scheduledAt is ${isDate ? "an invalid Date" : describe(scheduledAt)}. ${PASS_WHEN_DUE}`);
}

function describe(value: unknown): string {
  if (typeof value === "number") return String(value);
  return value === undefined
    ? "missing, and so is key (is a variable not set?)"
    : value === null
      ? "null"
      : `of type ${typeof value}`;
}

function hours(ms: number): string {
  return `${(ms / 3_600_000).toFixed(1)} h`;
}
