import type { LeaseStoreCapabilities, Timing } from "@leasehold/core";
import { isEvent, type DemoEvent, type EventName, type EventNamed } from "./demo-event.ts";
import { ledgerProblems, type Entry } from "./ledger.ts";
import type { Takeover } from "./takeover.ts";
import { inOrder, overlapMs, reignsOf } from "./timeline.ts";

/** Something that had to be so, and whether it was. */
export interface Expectation {
  readonly expected: string;
  readonly held: boolean;
  /** The finding, in words. */
  readonly found: string;
}

/** The result of the demo. */
export interface Evidence {
  /** The store of the lease, for people. */
  readonly store: string;
  readonly fence: LeaseStoreCapabilities["fence"];
  readonly events: readonly DemoEvent[];
  readonly takeovers: readonly Takeover[];
  readonly timing: Timing;
  /** The ledger's versions, one after another. */
  readonly ledger: readonly (readonly Entry[])[];
}

/** A crashed or frozen leader must be replaced in this many lease durations after its last renewal, */
const CRASH_LEASES = 1.1;
/** and in what a busy machine takes to notice that. */
const NOISE_MS = 1_500;
/** The time of a polite handover beside one retry period: a few round trips, with room for a busy machine. */
const ROUND_TRIPS_MS = 2_000;

/** Whether workers that were killed, told to end and frozen were replaced as they should be. */
export function judgeWorkers(evidence: Evidence): Expectation[] {
  return [
    oneLeaderEach(evidence),
    termsRise(evidence),
    noOverlap(evidence),
    inTime(evidence, "crash"),
    inTime(evidence, "handover"),
    drained(evidence),
    inTime(evidence, "freeze"),
    deposedKnows(evidence),
    lateWriteRefused(evidence),
    ...(evidence.fence === "after-seal" ? [sealedFirst(evidence)] : []),
    ...(count(evidence.events, "cut-off") > 0 ? [inTime(evidence, "cut-off"), goesOn(evidence)] : []),
    ledgerWhole(evidence),
  ];
}

function oneLeaderEach({ events }: Evidence): Expectation {
  const cuts = count(events, "cut-off");
  const signals = count(events, "killed") + count(events, "terminated") + count(events, "paused");
  const changes = 1 + signals + cuts;
  const starts = count(events, "started-leading");
  return {
    expected: "one leader each time",
    held: signals === 3 && starts === changes,
    found: `${starts} leaders, after an election${cuts > 0 ? "," : " and"} ${signals} signals${cuts > 0 ? " and a cut" : ""}`,
  };
}

export function termsRise({ events }: Evidence): Expectation {
  const terms = all(events, "started-leading").map(({ term }) => term ?? 0);
  return {
    expected: "the term rises with every leader",
    held: terms.length > 0 && terms.every((term, index) => index === 0 || term > (terms[index - 1] ?? 0)),
    found: `terms ${terms.join(", ")}`,
  };
}

export function noOverlap({ events }: Evidence): Expectation {
  const reigns = reignsOf(events);
  const overlap = overlapMs(reigns);
  return {
    expected: "never two valid leaders at once",
    held: reigns.length > 1 && overlap === 0,
    found: `${formatMs(overlap)} of overlap among ${reigns.length} leaders`,
  };
}

function inTime({ takeovers, timing }: Evidence, cause: Takeover["cause"]): Expectation {
  const { limitMs, limit } = cause === "handover" ? handoverLimit(timing) : expiryLimit(timing);
  const takeover = takeovers.find((each) => each.cause === cause);
  return {
    expected: `takeover after the ${cause} within ${limit} (${formatMs(limitMs)})`,
    held: takeover !== undefined && takeover.ms >= 0 && takeover.ms <= limitMs,
    found: takeover ? formatMs(takeover.ms) : "no takeover",
  };
}

function handoverLimit({ retryPeriodMs }: Timing): Limit {
  return { limitMs: retryPeriodMs + ROUND_TRIPS_MS, limit: "a retry period and a few round trips" };
}

function expiryLimit({ leaseDurationMs }: Timing): Limit {
  return { limitMs: CRASH_LEASES * leaseDurationMs + NOISE_MS, limit: `${CRASH_LEASES} leases and ${formatMs(NOISE_MS)}` };
}

interface Limit {
  readonly limitMs: number;
  readonly limit: string;
}

function drained({ events }: Evidence): Expectation {
  const [terminated] = all(events, "terminated");
  const own = events.filter(({ candidate }) => candidate === terminated?.candidate);
  const finished = all(own, "wrote").some(({ at }) => terminated !== undefined && at > terminated.at);
  const [exited] = all(own, "exited");
  return {
    expected: "the leader told to end finishes its work first",
    held: finished && exited?.code === 0,
    found: `${finished ? "an entry" : "no entry"} after the signal, ${exited ? (exited.signal ?? `exit code ${exited.code}`) : "no exit"}`,
  };
}

function deposedKnows({ events }: Evidence): Expectation {
  const [resumed] = all(events, "resumed");
  const [thawed] = all(events, "thawed");
  const validLater = all(events, "validity-ended").some(
    ({ candidate, lastValid }) => resumed !== undefined && candidate === resumed.candidate && lastValid >= resumed.at,
  );
  return {
    expected: "the thawed leader knows at once that it is deposed",
    held: thawed !== undefined && thawed.candidate === resumed?.candidate && !thawed.valid && !validLater,
    found: thawed
      ? `isValid() is ${thawed.valid} in its first statement, ${validLater ? "and true later" : "and stays so"}`
      : "it never woke up",
  };
}

function lateWriteRefused({ events }: Evidence): Expectation {
  const [refused] = all(events, "fenced-write-refused");
  const accepted = count(events, "stale-write-accepted");
  return {
    expected: "the store refuses the deposed leader's write",
    held: refused !== undefined && accepted === 0,
    found: accepted > 0 ? "it was accepted" : refused ? refused.error : "no such write was tried",
  };
}

function goesOn({ events }: Evidence): Expectation {
  const [rejoined] = all(events, "rejoined");
  const starts = all(events, "started-leading").filter(({ at }) => rejoined !== undefined && at > rejoined.at);
  const renewals = all(events, "renewed").filter(({ at }) => rejoined !== undefined && at > rejoined.at);
  return {
    expected: "the return of the server that was cut off costs the new leader nothing",
    held: rejoined !== undefined && starts.length === 0 && renewals.length > 0,
    found: `${renewals.length} renewals and ${starts.length} elections after it`,
  };
}

function sealedFirst({ events }: Evidence): Expectation {
  const terms = all(events, "started-leading").map(({ term }) => term);
  const unsealed = terms.filter((term) => {
    const acts = inOrder(events).filter((event) => event.term === term && isEvent(event, "sealed", "wrote"));
    return acts[0]?.event !== "sealed";
  });
  return {
    expected: "every leader seals the ledger before it writes to it",
    held: terms.length > 0 && unsealed.length === 0,
    found: unsealed.length > 0 ? `not in term ${unsealed.join(", ")}` : `sealed in ${terms.length} terms`,
  };
}

export function ledgerWhole({ events, ledger }: Evidence): Expectation {
  const acknowledged = all(events, "wrote").map(({ entry, term, candidate }) => ({
    entry,
    term: term ?? 0,
    candidate: candidate ?? "",
  }));
  const problems = ledgerProblems(ledger, acknowledged);
  return {
    expected: "the ledger keeps every acknowledged write, and takes no stale one",
    held: problems.length === 0 && acknowledged.length > 0,
    found: problems.length > 0 ? problems.join("; ") : `${ledger.at(-1)?.length} entries, ${acknowledged.length} acknowledged`,
  };
}

export function all<Name extends EventName>(events: readonly DemoEvent[], name: Name): EventNamed<Name>[] {
  return inOrder(events).filter((event): event is EventNamed<Name> => isEvent(event, name));
}

export function count(events: readonly DemoEvent[], name: EventName): number {
  return all(events, name).length;
}

/** Whole milliseconds, but never a false zero. */
export function formatMs(ms: number): string {
  return `${(ms > 0 && ms < 1 ? ms.toFixed(2) : Math.round(ms)).toLocaleString("en-US")} ms`;
}
