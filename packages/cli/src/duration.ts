import { InvalidArgumentError } from "commander";

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Returns the milliseconds of `15s`, `500ms`, `1.5m` or `2h`.
 * @throws {InvalidArgumentError} for anything else. A bare number is refused, because its unit is unclear.
 */
export function parseDuration(text: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN);
  if (number !== "" && Number.isSafeInteger(ms)) return ms;
  const advice = /^\d+$/.test(text) ? `Say ${text}s or ${text}ms.` : "Write it as 15s, 500ms, 2m or 1h, in whole milliseconds.";
  throw new InvalidArgumentError(advice);
}

/** Formats a duration for people: `420 ms`, `4.2 s`, `17 min`, `3.5 h`, `2 d`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "∞";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${oneDigit(ms / 1_000)} s`;
  if (ms < 2 * 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 48 * 3_600_000) return `${oneDigit(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

function oneDigit(number: number): string {
  return String(Math.round(number * 10) / 10);
}
