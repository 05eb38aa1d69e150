import { Token } from "cdktn";

const DAY_MINUTES = 1_440;

/** The tries of one occurrence of a job. */
export interface Tries {
  /** A cron expression of five fields, minutes first. */
  readonly schedule: string;
  /** The work's own time limit, in milliseconds. */
  readonly timeoutMs: number;
  /** The time limit of one try, in seconds: that of the work, and of the wait for the claim of a try that died. */
  readonly trySeconds: number;
  /** The number of tries after the first one, where they fit. */
  readonly retries: number;
}

/**
 * Returns how often a try that failed is made again: as often as all tries end before the next tick, at most `retries` times.
 * A job is not told when it was due, and goes by the last tick. A try after the next tick does that one, and the failed one is lost.
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

/** Returns the shortest time between two ticks, in seconds; `undefined` for an expression that it cannot read. */
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

/** Returns the least number of days between two days that have ticks. One where both fields limit them: a day of either has. */
function daysApart(days: string, weekdays: string): number {
  if (days === "*") return leastGap(weekdays.split(",").map(weekdayOf), 7);
  // February is the shortest month.
  return weekdays === "*" ? leastGap(days.split(",").map(Number), 28) : 1;
}

/** Returns the least gap between numbers that repeat after `period`; 1 where one of them is none. */
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

/** Returns the values of a field, in order; `undefined` for one that it cannot read. */
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
