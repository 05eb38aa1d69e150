import type { EventNamed } from "./demo-event.ts";
import {
  all,
  count,
  eachTermEnds,
  formatMs,
  ledgerWhole,
  mostRenewals,
  noOverlap,
  RENEWALS,
  termsRise,
  type Evidence,
  type Expectation,
} from "./expectations.ts";
import { inOrder } from "./timeline.ts";

/** A span of time, and its lane in the picture. */
interface Moment {
  readonly lane: string;
  readonly from: number;
  readonly to: number;
}

/** Checks the leaders while stores die and come back, one of them empty. */
export function judgeMembers(evidence: Evidence): Expectation[] {
  return [
    twoLeaders(evidence),
    termsRise(evidence),
    noOverlap(evidence),
    untouched(evidence, 0, "one store of three dies, and the leader goes on"),
    stepsDown(evidence),
    nobodyWithout(evidence),
    comesBack(evidence),
    heals(evidence),
    untouched(evidence, 2, "another one dies, and the store that was emptied makes the majority"),
    ledgerWhole(evidence),
  ];
}

/** Returns when the leader gave up without a majority, and when a leader began again. */
export function momentsOf({ events, timing }: Evidence): { readonly leaderDown?: Moment; readonly leaderBack?: Moment } {
  const [back] = all(events, "member-started");
  const leads = back && all(events, "started-leading").find(({ at }) => at > back.since);
  const last = back && all(events, "started-leading").findLast(({ at }) => at < back.since);
  const own = events.filter(({ term }) => last !== undefined && term === last.term);
  const ending = all(own, "ending").find(({ lost }) => lost);
  const extended = [...all(own, "started-leading"), ...all(own, "renewed")].map(({ validUntil }) => validUntil);
  return {
    ...(ending
      ? { leaderDown: { lane: ending.candidate ?? "", from: Math.max(...extended) - timing.validForMs, to: ending.at } }
      : {}),
    ...(back && leads ? { leaderBack: { lane: back.member, from: Math.min(back.at, leads.at), to: leads.at } } : {}),
  };
}

function twoLeaders(evidence: Evidence): Expectation {
  const { held, found } = eachTermEnds(evidence);
  return {
    expected: "one leader until no majority is left, and one once it is back",
    held: held && count(evidence.events, "started-leading") >= 2,
    found,
  };
}

/** Checks that the leader renews between one store's death and the next change of the stores. */
function untouched({ events }: Evidence, which: number, expected: string): Expectation {
  const killed = all(events, "member-killed")[which];
  const next = changes(events).find(({ at }) => killed !== undefined && at > killed.at);
  const between = inOrder(events).filter(({ at }) => killed && at > killed.at && at < (next?.at ?? Infinity));
  const renewals = mostRenewals(between);
  return {
    expected,
    held: killed !== undefined && renewals >= RENEWALS,
    found: killed ? `${renewals} renewals in one term` : "no store died",
  };
}

function stepsDown(evidence: Evidence): Expectation {
  const { leaderDown } = momentsOf(evidence);
  return {
    expected: "without a majority the leader steps down",
    held: leaderDown !== undefined,
    found: leaderDown === undefined ? "it did not" : `${formatMs(leaderDown.to - leaderDown.from)} after its last renewal`,
  };
}

/** A leader may log its start late. So its lease counts from when the leader sent the request for it. */
function nobodyWithout({ events, timing }: Evidence): Expectation {
  const [, second] = all(events, "member-killed");
  const [back] = all(events, "member-started");
  const starts = all(events, "started-leading").filter(
    ({ at, validUntil }) => second && back && validUntil - timing.validForMs > second.at && at < back.since,
  );
  return {
    expected: "nobody begins to lead while one store of three is left",
    held: second !== undefined && back !== undefined && starts.length === 0,
    found: `${starts.length} leaders`,
  };
}

function comesBack(evidence: Evidence): Expectation {
  const { leaderBack } = momentsOf(evidence);
  return {
    expected: "somebody leads once a store is back",
    held: leaderBack !== undefined,
    found: leaderBack === undefined ? "nobody" : `after ${formatMs(leaderBack.to - leaderBack.from)}`,
  };
}

function heals({ events }: Evidence): Expectation {
  const empty = all(events, "member-started").find((event) => event.empty);
  const [healed] = all(events, "member-healed");
  return {
    expected: "the store that came back empty is written anew",
    held: empty !== undefined && healed !== undefined && healed.at > empty.since,
    found: empty && healed ? `after ${formatMs(healed.at - empty.at)}` : "never",
  };
}

function changes(events: Evidence["events"]): Array<EventNamed<"member-killed" | "member-started">> {
  return [...all(events, "member-killed"), ...all(events, "member-started")].toSorted((one, other) => one.at - other.at);
}
