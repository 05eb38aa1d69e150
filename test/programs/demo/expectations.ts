import type { LeaseStoreCapabilities, Timing } from "@leasehold/core";
import { isEvent, type DemoEvent, type EventName, type EventNamed } from "./demo-event.ts";
import { ledgerProblems, type Entry } from "./ledger.ts";
import type { Takeover } from "./takeover.ts";
import { inOrder, overlapMs, reignsOf } from "./timeline.ts";

/** An expectation, and its result. */
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

/** So many renewals in one term, which cover more than a lease, show that the leader is undisturbed. */
export const RENEWALS = 4;

/** Checks that another worker replaced each one that was killed, told to end, or frozen. */
export function judgeWorkers(evidence: Evidence): Expectation[] {
  return [
    oneLeaderEach(evidence),
    termsRise(evidence),
    noOverlap(evidence),
    replaced(evidence, "crash"),
    replaced(evidence, "handover"),
    drained(evidence),
    replaced(evidence, "freeze"),
    deposedKnows(evidence),
    lateWriteRefused(evidence),
    ...(evidence.fence === "after-seal" ? [sealedFirst(evidence)] : []),
    ...(count(evidence.events, "cut-off") > 0 ? [replaced(evidence, "cut-off"), goesOn(evidence)] : []),
    ledgerWhole(evidence),
  ];
}

function oneLeaderEach(evidence: Evidence): Expectation {
  const { events } = evidence;
  const cuts = count(events, "cut-off");
  const signals = count(events, "killed") + count(events, "terminated") + count(events, "paused");
  const { held, found } = eachTermEnds(evidence);
  return {
    expected: "one leader each time",
    held: held && signals === 3,
    found: `${found}, after an election${cuts > 0 ? "," : " and"} ${signals} signals${cuts > 0 ? " and a cut" : ""}`,
  };
}

/** Checks that every term but the last has ended: by an act of the demo, or by the leader, which may lose its lease. */
export function eachTermEnds({ events }: Pick<Evidence, "events">): Pick<Expectation, "held" | "found"> {
  const terms = all(events, "started-leading").map(({ term }) => term);
  const ended = new Set(
    events
      .filter((event) => isEvent(event, "killed", "terminated", "paused", "cut-off", "stopped-leading"))
      .map(({ term }) => term),
  );
  const endless = terms.slice(0, -1).filter((term) => !ended.has(term));
  return {
    held: terms.length > 0 && endless.length === 0,
    found: `${terms.length} leaders${endless.length > 0 ? `, and nothing had ended term ${endless.join(", ")}` : ""}`,
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
  const ledTerms = reignsOf(events);
  const overlap = overlapMs(ledTerms);
  return {
    expected: "never two valid leaders at once",
    held: ledTerms.length > 1 && overlap === 0,
    found: `${formatMs(overlap)} of overlap among ${ledTerms.length} leaders`,
  };
}

/** Checks that another worker has taken over. The summary shows the duration, which depends on the machine and cannot fail. */
function replaced({ takeovers }: Evidence, cause: Takeover["cause"]): Expectation {
  const takeover = takeovers.find((each) => each.cause === cause);
  return {
    expected: `after the ${cause} another one leads`,
    held: takeover !== undefined && takeover.ms >= 0,
    found: takeover ? `${takeover.to}, after ${formatMs(takeover.ms)}` : "no takeover",
  };
}

function drained({ events }: Evidence): Expectation {
  const [terminated] = all(events, "terminated");
  const own = events.filter(({ candidate }) => candidate === terminated?.candidate);
  const finished = all(own, "wrote").some(({ at }) => terminated !== undefined && at > terminated.at);
  // A leader that loses its lease on a busy machine cannot finish.
  const lost = all(own, "stopped-leading").some((event) => event.term === terminated?.term && event.lost);
  const [exited] = all(own, "exited");
  const entry = finished ? "an entry" : lost ? "no entry, since it lost its lease," : "no entry";
  return {
    expected: "the leader told to end finishes its work first",
    held: (finished || lost) && exited?.code === 0,
    found: `${entry} after the signal, ${exited ? (exited.signal ?? `exit code ${exited.code}`) : "no exit"}`,
  };
}

function deposedKnows({ events }: Evidence): Expectation {
  const [resumed] = all(events, "resumed");
  const own = events.filter((event) => resumed && event.term === resumed.term && event.at >= resumed.at);
  const [thawed] = all(own, "thawed");
  const validLater = all(own, "validity-ended").some(({ lastValid }) => resumed !== undefined && lastValid >= resumed.at);
  return {
    expected: "the thawed leader knows at once that it is deposed",
    held: thawed !== undefined && !thawed.valid && !validLater,
    found: thawed
      ? `isValid() is ${thawed.valid} in its first statement, ${validLater ? "and true later" : "and stays so"}`
      : "it never woke up",
  };
}

function lateWriteRefused({ events }: Evidence): Expectation {
  const [resumed] = all(events, "resumed");
  const refused = all(events, "fenced-write-refused").find(
    ({ at, term }) => resumed && term === resumed.term && at >= resumed.at,
  );
  const stale = all(events, "late-write-accepted").filter((late) => isStale(late, events));
  return {
    expected: "the store refuses the deposed leader's write",
    held: refused !== undefined && stale.length === 0,
    found: stale.length > 0 ? "it was accepted" : refused ? refused.error : "no such write was tried",
  };
}

/** Reports whether a newer leader had begun before the write was sent, and had sealed the ledger if the store needs that. */
function isStale({ term, sentAt }: EventNamed<"late-write-accepted">, events: readonly DemoEvent[]): boolean {
  const closings = count(events, "sealed") > 0 ? all(events, "sealed") : all(events, "started-leading");
  return closings.some((closing) => (closing.term ?? 0) > (term ?? 0) && closing.at < sentAt);
}

function goesOn({ events }: Evidence): Expectation {
  const [rejoined] = all(events, "rejoined");
  const after = inOrder(events).filter(({ at }) => rejoined !== undefined && at > rejoined.at);
  const renewals = mostRenewals(after);
  return {
    expected: "the return of the server that was cut off costs the new leader nothing",
    held: renewals >= RENEWALS,
    found: `${renewals} renewals in one term and ${count(after, "started-leading")} elections after it`,
  };
}

/** Returns the largest number of renewals in one term. */
export function mostRenewals(events: readonly DemoEvent[]): number {
  const terms = all(events, "renewed").map(({ term }) => term);
  return Math.max(0, ...terms.map((term) => terms.filter((other) => other === term).length));
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

/** Formats whole milliseconds. A positive time below 1 ms keeps two digits, so that it does not show as 0. */
export function formatMs(ms: number): string {
  return `${(ms > 0 && ms < 1 ? ms.toFixed(2) : Math.round(ms)).toLocaleString("en-US")} ms`;
}
