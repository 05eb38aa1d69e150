import type { Leader } from "./leadership.ts";

/** The events of an elector. A listener that throws becomes a `listenerFailed` event and changes nothing else. */
export interface ElectorEvents {
  readonly standby: { readonly election: string };
  /** This candidate leads. Its task is called right after the listeners return, unless the term has ended by then. */
  readonly startedLeading: { readonly election: string; readonly term: number };
  /** The signal of this leadership has aborted. The task must settle now. */
  readonly ending: { readonly election: string; readonly term: number; readonly reason: Error };
  /** The task has settled, and the lease was released or is left to expire. `reason` is undefined if the task ended the term. */
  readonly stoppedLeading: {
    readonly election: string;
    readonly term: number;
    readonly reason: Error | undefined;
    readonly released: boolean;
  };
  /** The observed leader or its term has changed. `leader` may be this candidate; it is undefined if nobody leads. */
  readonly newLeader: { readonly election: string; readonly leader: Leader | undefined };
  readonly renewed: { readonly election: string; readonly term: number };
  /** A renewal failed. It is tried again while there is time. */
  readonly renewFailed: { readonly election: string; readonly term: number; readonly error: unknown };
  /** The lease could not be released; it expires by itself. */
  readonly releaseFailed: { readonly election: string; readonly term: number; readonly error: unknown };
  /** The task is still pending after its time to stop, `sinceSignalMs` after its signal aborted. */
  readonly overrun: { readonly election: string; readonly term: number; readonly sinceSignalMs: number };
  /** A poll or an attempt failed. The campaign goes on. With `startup: 'fail-fast'` it ends after a whole lease of refusals. */
  readonly storeFailed: { readonly election: string; readonly error: unknown };
  readonly listenerFailed: { readonly election: string; readonly event: string; readonly error: unknown };
}
