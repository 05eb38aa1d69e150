import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { endReasonOf, EVENT_CHANNEL, type PublishedEvent } from "@leasehold/core/diagnostics";
import { isLeaseholdError } from "@leasehold/core";
import type { Attributes, Logger } from "@opentelemetry/api";

/** The severity numbers of OpenTelemetry's data model. */
const INFO = 9;
const WARN = 13;
const ERROR = 17;

interface Event {
  readonly eventName: string;
  readonly severityNumber: number;
  readonly attributes: Attributes;
}

/** Emits an event for each change of the leader, and for problems that need a person. Returns a function that stops this. */
export function emitEvents(logger: Logger): () => void {
  const onEvent = (message: unknown): void => {
    const published = message as PublishedEvent;
    const event = eventOf(published);
    if (!event) return;
    const attributes = {
      "leasehold.election": published.event.election,
      "leasehold.candidate.id": published.candidateId,
      ...event.attributes,
    };
    logger.emit({ ...event, attributes });
  };
  subscribe(EVENT_CHANNEL, onEvent);
  return () => void unsubscribe(EVENT_CHANNEL, onEvent);
}

/** Returns `undefined` for renewals, polls and their failures. These are too frequent for events; metrics count them. */
function eventOf({ name, event }: PublishedEvent): Event | undefined {
  switch (name) {
    case "startedLeading":
      return { eventName: "leasehold.started_leading", severityNumber: INFO, attributes: { "leasehold.term": event.term } };
    case "ending": {
      const severityNumber = isLeaseholdError(event.reason, "LEASE_LOST") ? WARN : INFO;
      return {
        eventName: "leasehold.ending",
        severityNumber,
        attributes: { "leasehold.term": event.term, "leasehold.reason": endReasonOf(event.reason), ...errorOf(event.reason) },
      };
    }
    case "stoppedLeading": {
      const { term, reason, released } = event;
      const attributes = { "leasehold.term": term, "leasehold.reason": endReasonOf(reason), "leasehold.released": released };
      return { eventName: "leasehold.stopped_leading", severityNumber: INFO, attributes };
    }
    case "newLeader": {
      const { leader } = event;
      const attributes = leader ? { "leasehold.leader.id": leader.candidateId, "leasehold.term": leader.term } : {};
      return { eventName: "leasehold.new_leader", severityNumber: INFO, attributes };
    }
    case "releaseFailed":
      return {
        eventName: "leasehold.release_failed",
        severityNumber: WARN,
        attributes: { "leasehold.term": event.term, ...errorOf(event.error) },
      };
    case "overrun": {
      const attributes = { "leasehold.term": event.term, "leasehold.since_signal": event.sinceSignalMs / 1_000 };
      return { eventName: "leasehold.overrun", severityNumber: ERROR, attributes };
    }
    default:
      return undefined;
  }
}

/** The message of a foreign error may contain a secret, so only its name is reported. */
function errorOf(error: unknown): Attributes {
  if (!isLeaseholdError(error)) return { "error.type": error instanceof Error ? error.name : typeof error };
  return { "error.type": error.code, "exception.message": error.message };
}
