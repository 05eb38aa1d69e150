import { isEvent, type DemoEvent } from "./demo-event.ts";

/** A span of time on the demo's clock, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** When one leadership was valid, by the log of its own process. */
export interface LedTerm extends Span {
  readonly candidate: string;
  readonly term: number;
}

/** A worker's state for a while. `term` is set while it leads. */
export interface Stretch extends Span {
  readonly candidate: string;
  readonly state: "standby" | "leading" | "frozen";
  readonly term: number | null;
}

/**
 * Returns when each leadership was valid: from its start until `isValid()` was last true in its process. A process that was
 * killed or frozen counts for longer: until the instant at which `isValid()` would have turned false without another renewal.
 * Until then it could have acted if it had run again.
 */
export function reignsOf(events: readonly DemoEvent[]): LedTerm[] {
  const starts = inOrder(events).filter((event) => isEvent(event, "started-leading"));
  return starts.map(({ candidate, term, at }) => {
    const own = events.filter((event) => event.candidate === candidate && event.term === term);
    const validUntil = Math.max(
      ...own.filter((event) => isEvent(event, "started-leading", "renewed")).map((event) => event.validUntil),
    );
    const ended = own.filter((event) => isEvent(event, "validity-ended"));
    const lastValid = Math.max(at, ...ended.map((event) => event.lastValid));
    const firstEnd = Math.min(...ended.map((event) => event.at));
    return { candidate: candidate ?? "", term: term ?? 0, from: at, to: Math.max(lastValid, Math.min(firstEnd, validUntil)) };
  });
}

/** Returns for how many milliseconds two or more of the spans held at once. */
export function overlapMs(spans: readonly Span[]): number {
  const edges = spans.flatMap(({ from, to }) => [
    { at: from, change: 1 },
    { at: to, change: -1 },
  ]);
  // If one span ends as another one begins, the end comes first, because they do not overlap.
  edges.sort((a, b) => a.at - b.at || a.change - b.change);
  let holding = 0;
  let since = 0;
  let overlap = 0;
  for (const { at, change } of edges) {
    if (holding >= 2) overlap += at - since;
    holding += change;
    since = at;
  }
  return overlap;
}

/** Returns the states of each worker, from its first event to its end or to `endsAt`, in the order of the workers' starts. */
export function stretchesOf(events: readonly DemoEvent[], endsAt: number): Stretch[] {
  const stretches: Stretch[] = [];
  const open = new Map<string, Omit<Stretch, "to">>();
  const turn = (candidate: string, at: number, next: Pick<Stretch, "state" | "term"> | undefined): void => {
    const current = open.get(candidate);
    if (current && at > current.from) stretches.push({ ...current, to: at });
    open.delete(candidate);
    if (next) open.set(candidate, { candidate, from: at, ...next });
  };
  for (const event of inOrder(events)) {
    const { at, candidate, term } = event;
    if (candidate === null || at > endsAt) continue;
    if (isEvent(event, "standby", "resumed")) turn(candidate, at, { state: "standby", term: null });
    else if (isEvent(event, "started-leading")) turn(candidate, at, { state: "leading", term });
    else if (isEvent(event, "paused")) turn(candidate, at, { state: "frozen", term: null });
    else if (isEvent(event, "stopped-leading")) turn(candidate, at, { state: "standby", term: null });
    else if (isEvent(event, "killed", "exited")) turn(candidate, at, undefined);
  }
  for (const candidate of open.keys()) turn(candidate, endsAt, undefined);
  return stretches.toSorted((a, b) => a.from - b.from);
}

/** Sorts the events by their times, because events of different processes may arrive in another order. */
export function inOrder(events: readonly DemoEvent[]): DemoEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
