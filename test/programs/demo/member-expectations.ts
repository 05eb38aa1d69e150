import { isEvent, type EventNamed } from "./demo-event.ts";
import { all, count, formatMs, ledgerWhole, noOverlap, termsRise, type Evidence, type Expectation } from "./expectations.ts";

/** Timers of a busy machine are late. */
const NOISE_MS = 700;
/** The leader's renewals while one store is away cover more than a lease. */
const LEAST_RENEWALS = 4;
/** How soon somebody leads once a majority is back, in leases. */
const BACK_LEASES = 2;
/** How soon a store that came back empty has been written: a client that has lost its service waits before it connects again. */
const HEALED_LEASES = 3;

/** A span, and in whose lane it is. */
interface Moment {
  readonly lane: string;
  readonly from: number;
  readonly to: number;
}

/** Whether stores that died and came back, one of them empty, did to the leaders what they should. */
export function judgeMembers(evidence: Evidence): Expectation[] {
  return [
    twoLeaders(evidence),
    termsRise(evidence),
    noOverlap(evidence),
    untouched(evidence, 0, "one store of three dies, and the leader goes on"),
    stepsDown(evidence),
    nobodyWithout(evidence),
    backInTime(evidence),
    heals(evidence),
    untouched(evidence, 2, "another one dies, and the store that was emptied makes the majority"),
    ledgerWhole(evidence),
  ];
}

/** When the leader gave up for want of a majority, and when one led again. */
export function momentsOf({ events, timing }: Evidence): { readonly leaderDown?: Moment; readonly leaderBack?: Moment } {
  const [, second] = all(events, "member-killed");
  const [back] = all(events, "member-started");
  const ending = second && all(events, "ending").find(({ at }) => at > second.at);
  const renewed =
    ending && all(events, "renewed").findLast(({ at, candidate }) => at < ending.at && candidate === ending.candidate);
  const leads = back && all(events, "started-leading").find(({ at }) => at > back.at);
  return {
    ...(ending && renewed
      ? { leaderDown: { lane: ending.candidate ?? "", from: renewed.validUntil - timing.validForMs, to: ending.at } }
      : {}),
    ...(back && leads ? { leaderBack: { lane: back.member, from: back.at, to: leads.at } } : {}),
  };
}

function twoLeaders({ events }: Evidence): Expectation {
  const starts = count(events, "started-leading");
  return {
    expected: "one leader until no majority is left, and one once it is back",
    held: starts === 2,
    found: `${starts} leaders`,
  };
}

/** Between one store's death and the next change of the stores. */
function untouched({ events }: Evidence, which: number, expected: string): Expectation {
  const killed = all(events, "member-killed")[which];
  const next = changes(events).find(({ at }) => killed !== undefined && at > killed.at);
  const between = events.filter(({ at }) => killed && at > killed.at && at < (next?.at ?? Infinity));
  const renewals = count(between, "renewed");
  const ends = between.filter((event) => isEvent(event, "ending", "stopped-leading", "started-leading")).length;
  return {
    expected,
    held: killed !== undefined && renewals >= LEAST_RENEWALS && ends === 0,
    found: killed ? `${renewals} renewals, ${ends} changes` : "no store died",
  };
}

function stepsDown(evidence: Evidence): Expectation {
  const limitMs = evidence.timing.renewDeadlineMs + NOISE_MS;
  const { leaderDown } = momentsOf(evidence);
  const tookMs = leaderDown && leaderDown.to - leaderDown.from;
  return {
    expected: `without a majority the leader steps down by its renew deadline (${formatMs(limitMs)})`,
    held: tookMs !== undefined && tookMs <= limitMs,
    found: tookMs === undefined ? "it did not step down" : formatMs(tookMs),
  };
}

function nobodyWithout({ events }: Evidence): Expectation {
  const [, second] = all(events, "member-killed");
  const [back] = all(events, "member-started");
  const starts = all(events, "started-leading").filter(({ at }) => second && back && at > second.at && at < back.at);
  return {
    expected: "nobody begins to lead while one store of three is left",
    held: second !== undefined && back !== undefined && starts.length === 0,
    found: `${starts.length} leaders`,
  };
}

function backInTime(evidence: Evidence): Expectation {
  const { leaderBack } = momentsOf(evidence);
  return within(evidence, BACK_LEASES, "somebody leads", leaderBack && leaderBack.to - leaderBack.from);
}

function heals(evidence: Evidence): Expectation {
  const empty = all(evidence.events, "member-started").find((event) => event.empty);
  const [healed] = all(evidence.events, "member-healed");
  return within(evidence, HEALED_LEASES, "the store that is empty is written anew", empty && healed && healed.at - empty.at);
}

function within({ timing }: Evidence, leases: number, what: string, tookMs: number | undefined): Expectation {
  const limitMs = leases * timing.leaseDurationMs;
  return {
    expected: `${what} within ${leases} leases of its return (${formatMs(limitMs)})`,
    held: tookMs !== undefined && tookMs <= limitMs,
    found: tookMs === undefined ? "never" : formatMs(tookMs),
  };
}

function changes(events: Evidence["events"]): Array<EventNamed<"member-killed" | "member-started">> {
  return [...all(events, "member-killed"), ...all(events, "member-started")].toSorted((one, other) => one.at - other.at);
}
