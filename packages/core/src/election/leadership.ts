import type { Completion } from "../store/lease-snapshot.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";

/** The leadership of one term. It stops no late write: call `isValid()` before acting, or fence the write. */
export interface Leadership {
  readonly election: string;
  readonly candidateId: string;
  /** The fencing token: it rises at every acquisition by any candidate, and never repeats. */
  readonly term: number;
  /** Random, one per term. A fence compares it beside the term. */
  readonly termId: string;
  /**
   * Aborts once and for good, before the lease expires if the process can run at all. The reason is a `LeaseLostError`, a
   * `LeadershipEndedError` (a resign, a stall, a transfer, a settled task), or the reason of the caller's own signal.
   */
  readonly signal: AbortSignal;
  /** Resolves with the signal's reason once the signal has aborted. The task's end and a disposal abort it, too. */
  readonly ended: Promise<Error>;
  /**
   * Reports whether this is the one valid leadership at this moment. It is false from 0.9 lease durations after the last
   * confirmed renewal was sent, even if the store does not answer. Once false it stays false.
   */
  isValid(): boolean;
  /** The milliseconds for which `isValid()` stays true without another renewal; 0 once it is false. */
  remainingMs(): number;
  /** Call it right before an act that only the leader may do. @throws {LeaseLostError | LeadershipEndedError} */
  assertValid(): void;
  /** Reports that the work goes on. If `stallTimeoutMs` is set, a longer time without a call gives the leadership up. */
  checkpoint(): void;
  /**
   * Renews the lease, unless the last renewal was sent less than `renewIntervalMs` ago. Needed with `renewal: 'manual'`. A failed
   * renewal that can be tried again emits an event and throws nothing: call again.
   * @throws {LeaseLostError | LeadershipEndedError} if `isValid()` is false, now or after the renewal.
   */
  renew(): Promise<void>;
  /**
   * Changes the value that observers read, without changing the term.
   * @throws {ConfigurationError} for a value that the store cannot hold.
   * @throws {StoreError} if the value may not have been written.
   * @throws {LeaseLostError | LeadershipEndedError} if the leadership turns out to be lost or over.
   */
  publish(value: string): Promise<void>;
}

/** A claim of an occurrence. Unlike the leadership of an election, it can be completed. */
export interface OccurrenceLeadership extends Leadership {
  /**
   * Ends this term because its occurrence is done, for good. The call may succeed even after this leadership has become invalid.
   * @param completion the facts to record with the end. If several calls run at the same time, the facts of the first one are
   *   recorded. A value that is no completion is ignored, so `work().then(leadership.complete)` records only the end.
   * @throws {ConfigurationError} if the completion's result is not JSON, or the completion is too large for the store. This
   *   leadership goes on.
   * @throws {LeaseLostError} if another candidate has taken over.
   * @throws {StoreError} if the completion may not be recorded.
   */
  complete(completion?: Completion): Promise<void>;
}

/** The kind of leadership that a store gives: of an occurrence, or of an election. */
export type LeadershipOf<Store extends LeaseStore> = Store extends OccurrenceStore ? OccurrenceLeadership : Leadership;

/** A leadership held by hand. Until it is disposed of, the lease is renewed, and the elector starts nothing else. */
export interface HeldLeadership extends Leadership, AsyncDisposable {
  /** Ends the term: releases the lease if it is still held, and resolves when that is done. A second call is harmless. */
  release(): Promise<void>;
}

/** The work of a leader. It should settle soon after `leadership.signal` aborts: until it settles, no successor starts here. */
export type LeaderTask<T = void, Led extends Leadership = Leadership> = (leadership: Led) => Promise<T> | T;

export interface Leader {
  readonly candidateId: string;
  readonly term: number;
  readonly value?: string | undefined;
  /** `unknown`: the last known leader. This reader cannot know yet if that leader still leads. */
  readonly state: "held" | "ending" | "unknown";
}
