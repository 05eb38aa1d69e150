import { isEvent, type DemoEvent } from "./demo-event.ts";

/** A span of time on the demo's clock, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** When one leadership was valid, by what its own process logged. */
export interface Reign extends Span {
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
 * When each leadership was valid: from its start until its process last saw `isValid()` true. A process that was killed
 * or frozen is counted for longer, until the instant by which `isValid()` would have turned false without another
 * renewal: whatever it could have done had it run again sooner.
 */
export function reignsOf(events: readonly DemoEvent[]): Reign[] {
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

/** For how many milliseconds two or more of the spans held at once. */
export function overlapMs(spans: readonly Span[]): number {
  const edges = spans.flatMap(({ from, to }) => [
    { at: from, change: 1 },
    { at: to, change: -1 },
  ]);
  // Where one ends as another begins, the end goes first: they only touch.
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

/** The states of each worker, from its first word to its end or to `endsAt`, in the order of their starts. */
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

/** The events by when they happened: those of different processes may arrive the other way round. */
export function inOrder(events: readonly DemoEvent[]): DemoEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
