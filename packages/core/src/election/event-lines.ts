import { isLeaseholdError } from "../reporting/errors.ts";
import type { WarningCode } from "../reporting/journal.ts";
import type { LogAttributes, LogLevel } from "../reporting/logger.ts";
import { summarizeError } from "../reporting/redact.ts";
import type { ElectorEvents } from "./elector-events.ts";

export interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly attributes?: LogAttributes | undefined;
  /** Set if a person must learn of the event even without a logger. */
  readonly warning?: WarningCode | undefined;
}

type Lines = { readonly [Name in keyof ElectorEvents]: (event: ElectorEvents[Name], candidateId: string) => Line };

export const EVENT_LINES: Lines = {
  standby: ({ election }) => ({ level: "debug", message: `Standing by in '${election}'.` }),
  startedLeading: ({ election, term }) => ({
    level: "info",
    message: `Leading '${election}', term ${term}.`,
    attributes: { term },
  }),
  ending: ({ election, term, reason }) => {
    const { code, message } = summarizeError(reason);
    const level = isLeaseholdError(reason, "LEASE_LOST") ? "warn" : "info";
    // The caller's own reason may say only "This operation was aborted", so the line names the election and the term.
    const text = isLeaseholdError(reason) ? message : `Ending '${election}', term ${term}: ${message}`;
    return { level, message: text, attributes: { term, code } };
  },
  stoppedLeading: ({ election, term, released }) => ({
    level: "info",
    message: `Stopped leading '${election}', term ${term}; the lease ${released ? "is free" : "is left to run out"}.`,
    attributes: { term, released },
  }),
  newLeader: ({ election, leader }, candidateId) => ({
    level: leader?.candidateId === candidateId ? "debug" : "info",
    message: leader ? `'${leader.candidateId}' leads '${election}', term ${leader.term}.` : `Nobody leads '${election}'.`,
    attributes: leader ? { leader: leader.candidateId, term: leader.term } : {},
  }),
  renewed: ({ election, term }) => ({ level: "debug", message: `Renewed '${election}', term ${term}.`, attributes: { term } }),
  // `StoreHealth` warns people of failing renewals and polls, so their lines are `debug`.
  renewFailed: ({ term, error }) => failureLine("debug", error, { term }),
  releaseFailed: ({ term, error }) => {
    const line = failureLine("warn", error, { term });
    return { ...line, message: `The lease could not be released, and runs out by itself. ${line.message}` };
  },
  overrun: ({ election, term, sinceSignalMs }) => ({
    level: "error",
    message: `The task leading '${election}' (term ${term}) is still pending ${Math.round(sinceSignalMs)} ms after its signal aborted: a successor may lead beside it. Make the task heed leadership.signal.`,
    attributes: { term, sinceSignalMs: Math.round(sinceSignalMs) },
    warning: "LEASEHOLD_OVERRUN",
  }),
  storeFailed: ({ error }) =>
    isLeaseholdError(error, "TERM_REGRESSED") || isLeaseholdError(error, "FOREIGN_RECORD")
      ? { ...failureLine("error", error), warning: "LEASEHOLD_RECORD_UNUSABLE" }
      : failureLine("debug", error),
  listenerFailed: ({ election, event, error }) => {
    const { code, message } = summarizeError(error);
    const text = `A listener for '${event}' of '${election}' threw, and was ignored: ${message}`;
    return { level: "error", message: text, attributes: { listensTo: event, code }, warning: "LEASEHOLD_LISTENER_FAILED" };
  },
};

function failureLine(level: LogLevel, error: unknown, attributes: LogAttributes = {}): Line {
  const { code, message } = summarizeError(error);
  return { level, message, attributes: { ...attributes, code } };
}
