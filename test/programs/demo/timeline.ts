import type { LedTerm } from "@leasehold/test-kit/judge";
import { isEvent, type DemoEvent } from "./demo-event.ts";

/** The state of a worker for a while, on the demo's clock. There is none while it is dead. */
export interface Stretch {
  readonly worker: string;
  readonly from: number;
  readonly to: number;
  readonly state: "standby" | "leading" | "frozen";
  /** Set while it leads. */
  readonly term: number | null;
}

/**
 * Returns when each leadership was valid: from its start until `isValid()` was last true in its process. A process that was
 * killed or frozen counts for longer: until the instant at which `isValid()` would have turned false without another renewal.
 * Until then it could have acted if it had run again.
 */
export function ledTermsOf(events: readonly DemoEvent[]): LedTerm[] {
  const starts = inOrder(events).filter((event) => isEvent(event, "started-leading"));
  return starts.map(({ candidate, term, at }) => {
    const own = events.filter((event) => event.candidate === candidate && event.term === term);
    const extended = own.filter((event) => isEvent(event, "started-leading", "renewed"));
    const validUntil = Math.max(...extended.map((event) => event.validUntil));
    const ended = own.filter((event) => isEvent(event, "validity-ended"));
    const lastValid = Math.max(at, ...ended.map((event) => event.lastValid));
    const firstEnd = Math.min(...ended.map((event) => event.at));
    const toMs = Math.max(lastValid, Math.min(firstEnd, validUntil));
    return { candidateId: candidate ?? "", term: term ?? 0, fromMs: at, toMs };
  });
}

/** Returns the states of each worker, until its end or `endsAt`, in the order of their beginnings. */
export function stretchesOf(events: readonly DemoEvent[], endsAt: number): Stretch[] {
  const stretches: Stretch[] = [];
  const open = new Map<string, Omit<Stretch, "to">>();
  const turn = (worker: string, at: number, state?: Stretch["state"], term: number | null = null): void => {
    const current = open.get(worker);
    if (current && at > current.from) stretches.push({ ...current, to: at });
    open.delete(worker);
    if (state) open.set(worker, { worker, from: at, state, term });
  };
  for (const event of inOrder(events)) {
    const { at, candidate, term } = event;
    if (at > endsAt) continue;
    if (candidate === null) continue;
    if (isEvent(event, "standby", "resumed", "stopped-leading")) turn(candidate, at, "standby");
    else if (isEvent(event, "started-leading")) turn(candidate, at, "leading", term);
    else if (isEvent(event, "paused")) turn(candidate, at, "frozen");
    else if (isEvent(event, "killed", "exited")) turn(candidate, at);
  }
  for (const worker of open.keys()) turn(worker, endsAt);
  return stretches.toSorted((a, b) => a.from - b.from);
}

/** Sorts the events by their times, because events of different processes may arrive in another order. */
export function inOrder(events: readonly DemoEvent[]): DemoEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
