import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";

/**
 * The leadership of one term, as the leader's task holds it.
 *
 * A lease alone cannot stop a write that a paused process sends late: ask `isValid()` before acting, and let the store
 * that you write to check the term where it matters (fencing).
 */
export interface Leadership {
  /** The election that is led. */
  readonly election: string;
  /** The candidate that leads. */
  readonly candidateId: string;
  /** The fencing token: rises at every acquisition by whomever, and never repeats. */
  readonly term: number;
  /** Random, one per term; a fence compares it beside the term. */
  readonly termId: string;
  /**
   * Aborts, once and for good, when the leadership is lost (its reason then is a `LeaseLostError`), on resign, stall or
   * transfer (`LeadershipEndedError`), and when the caller's own signal aborts (that signal's reason). It aborts while
   * the lease still stands wherever the process can run at all, so that there is time to stop.
   */
  readonly signal: AbortSignal;
  /**
   * Resolves with the signal's reason once it has aborted, and never rejects: for work that is not one function, and holds the
   * leadership meanwhile. A leadership held by hand also ends when it is disposed of, and a task's when that settles.
   */
  readonly ended: Promise<Error>;
  /**
   * Reports whether this is, by this process's clocks at this very moment, the one valid leadership: false from 0.9 lease
   * durations after the last good renewal was sent, even in the first statement after a freeze, and whether or not the
   * store answers. Once false it stays false.
   */
  isValid(): boolean;
  /** For how many milliseconds more `isValid()` stays true without another renewal; 0 once it is false. */
  remainingMs(): number;
  /**
   * Call it right before an act that only the leader may do.
   * @throws {LeaseLostError | LeadershipEndedError} unless `isValid()`.
   */
  assertValid(): void;
  /** Says that the work is alive; with `stallTimeoutMs` set, a longer silence gives the leadership up. */
  checkpoint(): void;
  /**
   * Renews the lease, unless the last renewal was sent less than `renewIntervalMs` ago: with `renewal: 'manual'` it is
   * the task that keeps its lease. A renewal that fails and may yet succeed is an event, and no error: call again.
   * @throws {LeaseLostError | LeadershipEndedError} unless `isValid()`, now or after the renewal.
   */
  renew(): Promise<void>;
  /**
   * Changes the value that observers read, without changing the term.
   * @throws {ConfigurationError} for a value the store cannot hold; a `StoreError` if it may not have been written;
   *   {LeaseLostError} if the lease turns out to be lost.
   */
  publish(value: string): Promise<void>;
}

/** A claim of an occurrence. Unlike an election, which goes on, it can be completed. */
export interface OccurrenceLeadership extends Leadership {
  /**
   * Ends this term because what it was for is done: nobody can lead it again. It succeeds as long as nobody has taken
   * over, even once this leadership is not valid any more.
   * @throws {LeaseLostError} if somebody has. A `StoreError` if it is not known to be recorded.
   */
  complete(): Promise<void>;
}

/** The leadership that a store gives: of an occurrence, or of an election. */
export type LeadershipOf<Store extends LeaseStore> = Store extends OccurrenceStore ? OccurrenceLeadership : Leadership;

/**
 * A leadership held by hand. It is pending until it is disposed of: the lease is renewed, and nothing else starts on that
 * elector.
 */
export interface HeldLeadership extends Leadership, AsyncDisposable {
  /** Ends the term: releases the lease if it is still held, and settles when that is done. Doing it twice is harmless. */
  release(): Promise<void>;
}

/**
 * The work of a leader. It should settle soon after `leadership.signal` aborts: no successor starts in this process before it
 * has.
 */
export type LeaderTask<T = void, Led extends Leadership = Leadership> = (leadership: Led) => Promise<T> | T;

/** The leader, as a candidate or an observer sees it. */
export interface Leader {
  readonly candidateId: string;
  readonly term: number;
  /** The value that the leader published, for instance its address. */
  readonly value?: string | undefined;
  /** `unknown`: the last leader known, of which this reader cannot know yet whether it still leads. */
  readonly state: "held" | "ending" | "unknown";
}
