import { isEvent, type DemoEvent } from "./demo-event.ts";
import { inOrder, ledTermsOf } from "./timeline.ts";

/** One change of the leader, and its duration. */
export interface Takeover {
  readonly cause: "crash" | "handover" | "freeze" | "cut-off";
  readonly from: string;
  readonly to: string;
  readonly term: number;
  /** When the new leader started. */
  readonly at: number;
  /** The duration, which begins at `since`. */
  readonly ms: number;
  /** The duration as a multiple of the lease. */
  readonly leases: number;
  /** The beginning of the duration: the sending of the old leader's last successful renewal, or its release. */
  readonly since: "renewal" | "release";
  /** The time since the signal that caused the change. */
  readonly sinceSignalMs: number;
}

const CAUSES = { killed: "crash", terminated: "handover", paused: "freeze", "cut-off": "cut-off" } as const;

/**
 * Returns the changes of the leader that the demo caused.
 *
 * @param validForMs how long a leader is valid after the sending of a renewal. `validUntil` minus this time is when the last
 *   successful renewal was sent.
 */
export function takeoversOf(events: readonly DemoEvent[], leaseDurationMs: number, validForMs: number): Takeover[] {
  const ordered = inOrder(events);
  const ledTerms = ledTermsOf(events);
  return ordered.flatMap((event): Takeover[] => {
    if (!isEvent(event, "killed", "terminated", "paused", "cut-off")) return [];
    const old = ledTerms.findLast(({ candidateId, fromMs }) => candidateId === event.candidate && fromMs < event.at);
    const next = old && ledTerms.find(({ term }) => term > old.term);
    if (!next) return [];
    const own = ordered.filter(({ candidate, term }) => candidate === old.candidateId && term === old.term);
    const extended = own.findLast((extending) => isEvent(extending, "started-leading", "renewed"));
    const cause = CAUSES[event.event];
    const renewalSentAt = (extended?.validUntil ?? old.fromMs) - validForMs;
    // `old.toMs` is the end of validity, shortly before the release. So the measured time is a little too long.
    const since = cause === "handover" ? old.toMs : renewalSentAt;
    const ms = Math.round(next.fromMs - since);
    return [
      {
        cause,
        from: old.candidateId,
        to: next.candidateId,
        term: next.term,
        at: next.fromMs,
        ms,
        leases: Math.round((ms / leaseDurationMs) * 1_000) / 1_000,
        since: cause === "handover" ? "release" : "renewal",
        sinceSignalMs: Math.round(next.fromMs - event.at),
      },
    ];
  });
}
