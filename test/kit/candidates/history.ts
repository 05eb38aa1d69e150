import type { CandidateEvent } from "./candidate.ts";

/** One thing that happened to a candidate: what it said itself, or what its parent saw. */
export type Line = { readonly atMs: number } & (CandidateEvent | Exit);

/** The end of the process, which only its parent can tell. */
export interface Exit {
  readonly event: "exited";
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The line of a given event. */
export type LineOf<Event extends Line["event"]> = Having<Line, Event>;
type Having<L extends Line, Event> = L extends Line ? (Event extends L["event"] ? L & { readonly event: Event } : never) : never;

/** While one candidate believed that it was the leader. */
export interface Reign {
  readonly candidateId: string;
  readonly term: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Everything that happened to the candidates of one election, by candidate. */
export type Histories = ReadonlyMap<string, readonly Line[]>;

/**
 * For how long two candidates were valid at once, in milliseconds, at worst over all pairs of leaderships. Each is known
 * from its candidate's first true `isValid()` to its last true one; 0 or less is a gap.
 */
export function worstOverlapMs(histories: Histories, nowMs: number): number {
  const all = [...histories].flatMap(([candidateId, lines]) => reigns(candidateId, lines, nowMs));
  const overlaps = all.flatMap((one, at) => all.slice(at + 1).map((other) => overlapMs(one, other)));
  return Math.max(Number.NEGATIVE_INFINITY, ...overlaps);
}

/** For how long both reigned at once; 0 or less is a gap between them. */
export function overlapMs(one: Reign, other: Reign): number {
  return Math.min(one.toMs, other.toMs) - Math.max(one.fromMs, other.fromMs);
}

/** The histories merged, for people. */
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

/** Those of one process. A reign whose end it did not see lasts to the end of the process, or to `nowMs`. */
export function reigns(candidateId: string, lines: readonly Line[], nowMs: number): Reign[] {
  const endMs = lines.find((line) => line.event === "exited")?.atMs ?? nowMs;
  return lines
    .filter((line) => line.event === "valid")
    .map(({ term, atMs }) => {
      const over = lines.find((line): line is LineOf<"invalid"> => line.event === "invalid" && line.term === term);
      return { candidateId, term, fromMs: atMs, toMs: over?.lastValidMs ?? endMs };
    });
}

/** Instants are shown in milliseconds since the first line. */
function since(key: string, value: unknown, originMs: number): string {
  if (typeof value !== "number") return String(value);
  const instant = key === "atMs" || key === "sentMs" || key.startsWith("last");
  return (instant ? value - originMs : value).toFixed(instant || !Number.isInteger(value) ? 1 : 0);
}
