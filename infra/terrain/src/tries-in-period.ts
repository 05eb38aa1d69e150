import { Token } from "cdktn";

const DAY_MINUTES = 1_440;

/** The tries of one occurrence of a job. */
export interface Tries {
  /** A cron expression of five fields, minutes first. */
  readonly schedule: string;
  /** The work's own time limit, in milliseconds. */
  readonly timeoutMs: number;
  /** The time limit of one try, in seconds: the work, and the wait for the claim of a try that died. */
  readonly trySeconds: number;
  /** The number of tries after the first one, if they fit. */
  readonly retries: number;
}

/**
 * Returns the number of retries of a failed try: as many as end before the next tick, at most `retries`. A job does not learn
 * when it was due, and takes the last tick. A try after the next tick does that tick, and the failed one is lost.
 * @throws {Error} if not even one retry ends before the next tick.
 */
export function retriesInPeriod({ schedule, timeoutMs, trySeconds, retries }: Tries): number {
  const periodSeconds = Token.isUnresolved(schedule) ? undefined : shortestPeriodSeconds(schedule);
  if (periodSeconds === undefined) return retries;
  const fitting = Math.floor(periodSeconds / trySeconds) - 1;
  if (fitting >= 1) return Math.min(fitting, retries);
  const longestMs = timeoutMs + Math.floor((periodSeconds / 2 - trySeconds) * 1_000);
  const advice = longestMs > 0 ? `Lower timeoutMs to ${longestMs}, or schedule it less often.` : "Schedule it less often.";
  throw new Error(
    `schedule is ${JSON.stringify(schedule)}, whose ticks are ${periodSeconds} s apart, and two tries of ${trySeconds} s take longer: a retry would do the next tick, and the one that failed would be lost. ${advice}`,
  );
}

/** Returns the shortest time between two ticks, in seconds, or `undefined` for an expression that it cannot read. */
export function shortestPeriodSeconds(schedule: string): number | undefined {
  const [minutes = "", hours = "", days = "", , weekdays = ""] = schedule.split(" ");
  const minutesOf = valuesOf(minutes, 59);
  const hoursOf = valuesOf(hours, 23);
  if (!minutesOf || !hoursOf) return undefined;
  const ticks = hoursOf.flatMap((hour) => minutesOf.map((minute) => hour * 60 + minute));
  const [first = 0] = ticks;
  const gaps = ticks.map((tick, index) => (ticks[index + 1] ?? first + DAY_MINUTES * daysApart(days, weekdays)) - tick);
  return Math.min(...gaps) * 60;
}

/**
 * Returns the least number of days between two days with ticks. If both fields limit the days it is 1, because a day that matches
 * either counts.
 */
function daysApart(days: string, weekdays: string): number {
  if (days === "*") return leastGap(weekdays.split(",").map(weekdayOf), 7);
  // February is the shortest month.
  return weekdays === "*" ? leastGap(days.split(",").map(Number), 28) : 1;
}

/** Returns the least gap between numbers that repeat after `period`, or 1 if one of them is not a whole number. */
function leastGap(values: readonly number[], period: number): number {
  const sorted = [...new Set(values)].toSorted((a, b) => a - b);
  if (sorted.some((value) => !Number.isInteger(value))) return 1;
  const [first = 0] = sorted;
  return Math.max(Math.min(...sorted.map((value, index) => (sorted[index + 1] ?? first + period) - value)), 1);
}

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function weekdayOf(text: string): number {
  if (/^[0-7]$/.test(text)) return Number(text) % 7;
  const at = WEEKDAYS.indexOf(text.toLowerCase());
  return at < 0 ? Number.NaN : at;
}

/** Returns the values of a field, in order, or `undefined` for a field that it cannot read. */
function valuesOf(field: string, most: number): number[] | undefined {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [, range = "", step = "1"] = /^(\*|\d+(?:-\d+)?)(?:\/(\d+))?$/.exec(part) ?? [];
    const [low, high] = range === "*" ? [0, most] : range.split("-").map(Number);
    if (range === "" || low === undefined || Number(step) < 1) return undefined;
    const last = high ?? (part.includes("/") ? most : low);
    if (last > most || low > last) return undefined;
    for (let value = low; value <= last; value += Number(step)) values.add(value);
  }
  return [...values].toSorted((a, b) => a - b);
}
