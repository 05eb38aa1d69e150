import type { Leader } from "./leadership.ts";

/** The names of all events of an elector. */
export const EVENT_NAMES: Readonly<Record<keyof ElectorEvents, true>> = {
  standby: true,
  startedLeading: true,
  ending: true,
  stoppedLeading: true,
  newLeader: true,
  renewed: true,
  renewFailed: true,
  releaseFailed: true,
  overrun: true,
  storeFailed: true,
  listenerFailed: true,
};

/**
 * The events of an Elector, by name, with what each carries. They are notifications: a listener that throws becomes a
 * `listenerFailed` event and changes nothing else.
 */
export interface ElectorEvents {
  /** This candidate has begun to wait. */
  readonly standby: { readonly election: string };
  /**
   * This candidate leads; comes right before its task is called, unless the term has ended by the time that the listeners
   * return.
   */
  readonly startedLeading: { readonly election: string; readonly term: number };
  /** The signal of this leadership has aborted; the task is to settle. */
  readonly ending: { readonly election: string; readonly term: number; readonly reason: Error };
  /**
   * The task has settled, and the lease was released or left to expire. `reason`: why the signal aborted, if it did before the
   * task settled.
   */
  readonly stoppedLeading: {
    readonly election: string;
    readonly term: number;
    readonly reason: Error | undefined;
    readonly released: boolean;
  };
  /** Somebody else (or this candidate) leads, or nobody does any more. */
  readonly newLeader: { readonly election: string; readonly leader: Leader | undefined };
  /** A renewal was confirmed. */
  readonly renewed: { readonly election: string; readonly term: number };
  /** A renewal failed, and will be tried again while there is time. */
  readonly renewFailed: { readonly election: string; readonly term: number; readonly error: unknown };
  /** The lease could not be released; it expires by itself. */
  readonly releaseFailed: { readonly election: string; readonly term: number; readonly error: unknown };
  /** The task is still pending although its time is up; `sinceSignalMs` after its signal aborted. */
  readonly overrun: { readonly election: string; readonly term: number; readonly sinceSignalMs: number };
  /** A look or an attempt failed; the elector goes on. */
  readonly storeFailed: { readonly election: string; readonly error: unknown };
  /** A listener for `event` threw. */
  readonly listenerFailed: { readonly election: string; readonly event: string; readonly error: unknown };
}
