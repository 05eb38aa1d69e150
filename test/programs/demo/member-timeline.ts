import { isEvent, type DemoEvent } from "./demo-event.ts";
import { inOrder, type Span } from "./timeline.ts";

/** The state of a store for a while. There is none while the store is dead. */
export interface MemberStretch extends Span {
  readonly member: string;
  /** `empty`: the store has lost all data, and the others have not restored it yet. */
  readonly state: "up" | "empty";
}

/** Returns the states of each store, from the beginning to `endsAt`. */
export function memberStretchesOf(events: readonly DemoEvent[], endsAt: number): MemberStretch[] {
  const stretches: MemberStretch[] = [];
  const open = new Map<string, Omit<MemberStretch, "to">>();
  const turn = (member: string, at: number, state: MemberStretch["state"] | undefined): void => {
    const current = open.get(member);
    if (current && at > current.from) stretches.push({ ...current, to: at });
    open.delete(member);
    if (state) open.set(member, { member, from: at, state });
  };
  for (const event of inOrder(events)) {
    if (event.at > endsAt) continue;
    if (isEvent(event, "demo")) for (const member of event.members) turn(member, event.at, "up");
    else if (isEvent(event, "member-killed")) turn(event.member, event.at, undefined);
    else if (isEvent(event, "member-started")) turn(event.member, event.at, event.empty ? "empty" : "up");
    else if (isEvent(event, "member-healed")) turn(event.member, event.at, "up");
  }
  for (const member of open.keys()) turn(member, endsAt, undefined);
  return stretches;
}
