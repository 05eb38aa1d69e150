import { judge } from "@leasehold/test-kit/judge";
import type { Timing } from "@leasehold/core";
import { isEvent, type DemoEvent, type EventName, type EventNamed } from "./demo-event.ts";
import type { Takeover } from "./takeover.ts";
import { inOrder, ledTermsOf } from "./timeline.ts";

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
  readonly events: readonly DemoEvent[];
  readonly takeovers: readonly Takeover[];
  readonly timing: Timing;
}

/** Checks that another worker replaced each one that was killed, told to end, or frozen. */
export function judgeWorkers(evidence: Evidence): Expectation[] {
  const isCut = all(evidence.events, "cut-off").length > 0;
  return [
    oneLeader(evidence),
    replaced(evidence, "crash"),
    replaced(evidence, "handover"),
    drained(evidence),
    replaced(evidence, "freeze"),
    deposedKnows(evidence),
    lateWriteRefused(evidence),
    ...(isCut ? [replaced(evidence, "cut-off")] : []),
  ];
}

/** Checks that there were several leaders, one after another, with rising terms. */
function oneLeader({ events }: Pick<Evidence, "events">): Expectation {
  const ledTerms = ledTermsOf(events);
  const faults = judge(ledTerms);
  return {
    expected: "never two valid leaders at once, and a higher term for each leader",
    held: ledTerms.length > 1 && faults.length === 0,
    found: faults.length > 0 ? faults.join("; ") : `terms ${ledTerms.map(({ term }) => term).join(", ")}`,
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

/** The demo resumes the old leader only after its successor's first write, so the store must refuse its next one. */
function lateWriteRefused({ events }: Evidence): Expectation {
  const [resumed] = all(events, "resumed");
  const refused = all(events, "fenced-write-refused").find(
    ({ at, term }) => resumed && term === resumed.term && at >= resumed.at,
  );
  return {
    expected: "the store refuses the deposed leader's write",
    held: refused !== undefined,
    found: refused?.error ?? "it was accepted, or not tried",
  };
}

function all<Name extends EventName>(events: readonly DemoEvent[], name: Name): EventNamed<Name>[] {
  return inOrder(events).filter((event): event is EventNamed<Name> => isEvent(event, name));
}

/** Formats whole milliseconds. A positive time below 1 ms keeps two digits, so that it does not show as 0. */
export function formatMs(ms: number): string {
  return `${(ms > 0 && ms < 1 ? ms.toFixed(2) : Math.round(ms)).toLocaleString("en-US")} ms`;
}
