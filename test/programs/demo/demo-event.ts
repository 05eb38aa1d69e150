import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { Summary } from "./summary.ts";

/** The data of each event besides its time, its candidate and its term. Instants count like `at`. */
export interface EventDetails {
  /** The demo begins. */
  readonly demo: {
    readonly leaseDurationMs: number;
    readonly retryPeriodMs: number;
    /** The store of the lease, for people. */
    readonly store: string;
    /** The service that replaces the store in the demo, and its address. */
    readonly place: string;
    /** The processes of the story, for people. */
    readonly cast: string;
  };
  /** The next act begins. */
  readonly phase: { readonly title: string; readonly explanation: string };
  /** A worker process was started. */
  readonly spawned: { readonly pid: number };
  readonly standby: object;
  /** `validUntil`: the time until which `isValid()` can be true without another renewal. */
  readonly "started-leading": { readonly validUntil: number };
  readonly renewed: { readonly validUntil: number };
  /** From here on the ledger refuses older terms. Only for stores that need a seal. */
  readonly sealed: object;
  /** The service has accepted a fenced write of that entry. */
  readonly wrote: { readonly entry: number };
  /** `leadership.signal` has aborted. `lost` is true after a loss, and false after a release. */
  readonly ending: { readonly lost: boolean; readonly reason: string };
  /** `isValid()` was false, or the task is about to settle. `lastValid` is when the worker last read true. */
  readonly "validity-ended": { readonly lastValid: number };
  readonly "stopped-leading": { readonly lost: boolean };
  /** The worker has no pending request, and stops itself until the demo kills or resumes it. */
  readonly "stands-still": object;
  /** The worker ran again after a freeze. `valid` is the result of `isValid()` in its first statement. */
  readonly thawed: { readonly frozenMs: number; readonly valid: boolean };
  /** `error`: the name of the write's error. */
  readonly "fenced-write-refused": { readonly error: string; readonly message: string };
  /** The store accepted a write of `sentAt`, when `isValid()` was false. After a newer leader's start this must not happen. */
  readonly "late-write-accepted": { readonly sentAt: number };
  /** SIGKILL was sent. */
  readonly killed: object;
  /** SIGTERM was sent. */
  readonly terminated: object;
  /** SIGSTOP has taken effect. */
  readonly paused: object;
  /** SIGCONT was sent. */
  readonly resumed: object;
  /** No message passes between this worker, which is a server, and the others. `rejoined` ends this. */
  readonly "cut-off": object;
  readonly rejoined: object;
  readonly exited: { readonly code: number | null; readonly signal: string | null };
  readonly summary: Summary;
}

export type EventName = keyof EventDetails;

/** An event. `at` is in milliseconds since the demo began, by the host's monotonic clock. */
export type DemoEvent = {
  readonly [Name in EventName]: {
    readonly at: number;
    readonly candidate: string | null;
    readonly event: Name;
    readonly term: number | null;
  } & EventDetails[Name];
}[EventName];

/** The type of the events with a name. */
export type EventNamed<Name extends EventName> = Extract<DemoEvent, { readonly event: Name }>;

export function isEvent<Name extends EventName>(event: DemoEvent, ...names: readonly Name[]): event is EventNamed<Name> {
  return (names as readonly EventName[]).includes(event.event);
}

/** Returns the milliseconds since `originMs`, an earlier reading of the host's clock, to a hundredth. */
export function demoMs(originMs = 0): number {
  return Math.round((hostMs() - originMs) * 100) / 100;
}
