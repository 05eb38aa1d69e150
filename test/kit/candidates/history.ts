import type { LedTerm } from "../judge.ts";
import type { CandidateEvent } from "./candidate.ts";

/** One event of a candidate: a line that it printed, or an event that its parent observed. */
export type Line = { readonly atMs: number } & (CandidateEvent | Exit);

/** The end of the process, which only its parent can observe. */
export interface Exit {
  readonly event: "exited";
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The line of a given event. */
export type LineOf<Event extends Line["event"]> = Having<Line, Event>;
type Having<L extends Line, Event> = L extends Line ? (Event extends L["event"] ? L & { readonly event: Event } : never) : never;

/** Everything that happened to the candidates of one election, by candidate. */
export type Histories = ReadonlyMap<string, readonly Line[]>;

/** Returns the histories, merged into one text. */
export function printHistories(histories: Histories): string {
  const merged = [...histories].flatMap(([candidateId, lines]) => lines.map((line) => ({ candidateId, line })));
  merged.sort((one, other) => one.line.atMs - other.line.atMs);
  const originMs = merged[0]?.line.atMs ?? 0;
  return merged
    .map(({ candidateId, line: { atMs, event, ...details } }) => {
      const shown = Object.entries(details).map(([key, value]) => `${key}=${since(key, value, originMs)}`);
      return `${since("atMs", atMs, originMs).padStart(10)}  ${candidateId.padEnd(12)} ${event} ${shown.join(" ")}`;
    })
    .join("\n");
}

/**
 * Returns the leaderships of one process. If the process did not observe the end of one, it lasts to the end of the process, or
 * to `nowMs`.
 */
export function ledTerms(candidateId: string, lines: readonly Line[], nowMs: number): LedTerm[] {
  const endMs = lines.find((line) => line.event === "exited")?.atMs ?? nowMs;
  return lines
    .filter((line) => line.event === "valid")
    .map(({ term, atMs }) => {
      const over = lines.find((line): line is LineOf<"invalid"> => line.event === "invalid" && line.term === term);
      return { candidateId, term, fromMs: atMs, toMs: over?.lastValidMs ?? endMs };
    });
}

/** Returns a value as text. Instants are in milliseconds since the first line. */
function since(key: string, value: unknown, originMs: number): string {
  if (typeof value !== "number") return String(value);
  const instant = key === "atMs" || key === "sentMs" || key.startsWith("last");
  return (instant ? value - originMs : value).toFixed(instant || !Number.isInteger(value) ? 1 : 0);
}
