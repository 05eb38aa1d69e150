import { isEvent, type DemoEvent } from "./demo-event.ts";
import { inOrder, reignsOf } from "./timeline.ts";

/** One change of leaders, and how long it took. */
export interface Takeover {
  readonly cause: "crash" | "handover" | "freeze" | "cut-off";
  readonly from: string;
  readonly to: string;
  readonly term: number;
  /** When the new leader started. */
  readonly at: number;
  /** How long: since `since`. */
  readonly ms: number;
  /** The same, as a multiple of the lease. */
  readonly leases: number;
  /** The start of the time: the old leader's last good renewal, by when it was sent, or its release. */
  readonly since: "renewal" | "release";
  /** How long since the signal that brought it about. */
  readonly sinceSignalMs: number;
}

const CAUSES = { killed: "crash", terminated: "handover", paused: "freeze", "cut-off": "cut-off" } as const;

/**
 * The changes of leaders that the demo brought about.
 *
 * @param validForMs how long after the send of a renewal a leader believes in itself: from it and `validUntil` follows
 *   when the last good renewal was sent.
 */
export function takeoversOf(events: readonly DemoEvent[], leaseDurationMs: number, validForMs: number): Takeover[] {
  const ordered = inOrder(events);
  const reigns = reignsOf(events);
  return ordered.flatMap((event): Takeover[] => {
    if (!isEvent(event, "killed", "terminated", "paused", "cut-off")) return [];
    const old = reigns.findLast(({ candidate, from }) => candidate === event.candidate && from < event.at);
    const next = old && reigns.find(({ term }) => term > old.term);
    if (!next) return [];
    const own = ordered.filter(({ candidate, term }) => candidate === old.candidate && term === old.term);
    const extended = own.findLast((extending) => isEvent(extending, "started-leading", "renewed"));
    const cause = CAUSES[event.event];
    const renewalSentAt = (extended?.validUntil ?? old.from) - validForMs;
    // The lease is released right after its validity has ended: a little early, and so the time is a little long.
    const since = cause === "handover" ? old.to : renewalSentAt;
    const ms = Math.round(next.from - since);
    return [
      {
        cause,
        from: old.candidate,
        to: next.candidate,
        term: next.term,
        at: next.from,
        ms,
        leases: Math.round((ms / leaseDurationMs) * 1_000) / 1_000,
        since: cause === "handover" ? "release" : "renewal",
        sinceSignalMs: Math.round(next.from - event.at),
      },
    ];
  });
}
