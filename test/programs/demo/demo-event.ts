import type { Summary } from "./summary.ts";

/** The data of each event beside when, who and in which term. Instants are like `at`. */
export interface EventDetails {
  /** The demo begins. */
  readonly demo: {
    readonly leaseDurationMs: number;
    readonly retryPeriodMs: number;
    /** The store of the lease, for people. */
    readonly store: string;
    /** The service that stands for it here, and its address. */
    readonly place: string;
    /** Who is in the story, for people. */
    readonly cast: string;
    /** The stores that keep the lease together, if it is not one. */
    readonly members: readonly string[];
  };
  /** The next act begins. */
  readonly phase: { readonly title: string; readonly explanation: string };
  /** A worker process was started. */
  readonly spawned: { readonly pid: number };
  readonly standby: object;
  /** `validUntil`: until when its `isValid()` can be true unless it renews. */
  readonly "started-leading": { readonly validUntil: number };
  readonly renewed: { readonly validUntil: number };
  /** The ledger refuses older terms from here on; only where the store needs that to be said. */
  readonly sealed: object;
  /** The service has accepted a fenced write of that entry. */
  readonly wrote: { readonly entry: number };
  /** `leadership.signal` has aborted. `lost`: rather than given up. */
  readonly ending: { readonly lost: boolean; readonly reason: string };
  /** The worker saw `isValid()` false, or its task is about to settle; `lastValid` is when it last saw it true. */
  readonly "validity-ended": { readonly lastValid: number };
  readonly "stopped-leading": { readonly lost: boolean };
  /** The worker has no request under way, and stops itself until it is killed or resumed. */
  readonly "stands-still": object;
  /** The worker ran again after a freeze; `valid` is what `isValid()` said in its first statement. */
  readonly thawed: { readonly frozenMs: number; readonly valid: boolean };
  /** `error`: the name of what the write failed with. */
  readonly "fenced-write-refused": { readonly error: string; readonly message: string };
  /** A write that was sent at `sentAt`, when `isValid()` was false. It must not be accepted once a newer leader has begun. */
  readonly "late-write-accepted": { readonly sentAt: number };
  /** SIGKILL was sent. */
  readonly killed: object;
  /** SIGTERM was sent. */
  readonly terminated: object;
  /** SIGSTOP has taken effect. */
  readonly paused: object;
  /** SIGCONT was sent. */
  readonly resumed: object;
  /** Nothing passes between the worker, which is a server, and the others any more; and it does again. */
  readonly "cut-off": object;
  readonly rejoined: object;
  /** A store of several was ended by SIGKILL. */
  readonly "member-killed": { readonly member: string };
  /** It answers again, with what it had; or it is empty. The demo began to start it at `since`. */
  readonly "member-started": { readonly member: string; readonly empty: boolean; readonly since: number };
  /** The others have written it anew. */
  readonly "member-healed": { readonly member: string };
  readonly exited: { readonly code: number | null; readonly signal: string | null };
  readonly summary: Summary;
}

export type EventName = keyof EventDetails;

/** Something that happened. `at` is in milliseconds since the demo began, by the host's monotonic clock. */
export type DemoEvent = {
  readonly [Name in EventName]: {
    readonly at: number;
    readonly candidate: string | null;
    readonly event: Name;
    readonly term: number | null;
  } & EventDetails[Name];
}[EventName];

/** The events of that name. */
export type EventNamed<Name extends EventName> = Extract<DemoEvent, { readonly event: Name }>;

export function isEvent<Name extends EventName>(event: DemoEvent, ...names: readonly Name[]): event is EventNamed<Name> {
  return (names as readonly EventName[]).includes(event.event);
}
