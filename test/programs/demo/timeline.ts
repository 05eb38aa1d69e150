import type { LedTerm } from "@leasehold/test-kit/judge";
import { isEvent, type DemoEvent } from "./demo-event.ts";

/** The state of a worker, or of one of several stores, for a while, on the demo's clock. There is none while it is dead. */
export interface Stretch {
  /** The worker, or the store. */
  readonly lane: string;
  readonly from: number;
  readonly to: number;
  /** `empty`: the store has lost all data, and the others have not restored it yet. */
  readonly state: "standby" | "leading" | "frozen" | "up" | "empty";
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

/** Returns the states of each worker and each store, until its end or `endsAt`, in the order of their beginnings. */
export function stretchesOf(events: readonly DemoEvent[], endsAt: number): Stretch[] {
  const stretches: Stretch[] = [];
  const open = new Map<string, Omit<Stretch, "to">>();
  const turn = (lane: string, at: number, state?: Stretch["state"], term: number | null = null): void => {
    const current = open.get(lane);
    if (current && at > current.from) stretches.push({ ...current, to: at });
    open.delete(lane);
    if (state) open.set(lane, { lane, from: at, state, term });
  };
  for (const event of inOrder(events)) {
    const { at, candidate, term } = event;
    if (at > endsAt) continue;
    if (isEvent(event, "demo")) for (const member of event.members) turn(member, at, "up");
    else if (isEvent(event, "member-killed")) turn(event.member, at);
    else if (isEvent(event, "member-started")) turn(event.member, at, event.empty ? "empty" : "up");
    else if (isEvent(event, "member-healed")) turn(event.member, at, "up");
    if (candidate === null) continue;
    if (isEvent(event, "standby", "resumed", "stopped-leading")) turn(candidate, at, "standby");
    else if (isEvent(event, "started-leading")) turn(candidate, at, "leading", term);
    else if (isEvent(event, "paused")) turn(candidate, at, "frozen");
    else if (isEvent(event, "killed", "exited")) turn(candidate, at);
  }
  for (const lane of open.keys()) turn(lane, endsAt);
  return stretches.toSorted((a, b) => a.from - b.from);
}

/** Sorts the events by their times, because events of different processes may arrive in another order. */
export function inOrder(events: readonly DemoEvent[]): DemoEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
