import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  EVENT_CHANNEL,
  LOOK_CHANNEL,
  type ElectorState,
  type PublishedEvent,
  type PublishedLook,
} from "@leasehold/core/diagnostics";
import type { Clock } from "@leasehold/core/provider";
import type { ContactHealth, Elector, Leader, LeaseSnapshot, ListedElection } from "@leasehold/core";
import { SeenTerms, type SeenTerm } from "./seen-terms.ts";

/**
 * The present state of an election from the view of this candidate, or as the store listed it. Only a candidate has `candidateId`,
 * `state`, `leading`, `validForMs` and `alive`. All times are milliseconds before or after now.
 */
export interface ElectionView {
  readonly election: string;
  readonly candidateId?: string;
  readonly state?: ElectorState;
  /** This candidate leads, and its leadership is valid. */
  readonly leading?: boolean;
  /** The leader, or null: see `known`. */
  readonly leader: Pick<Leader, "candidateId" | "term" | "value"> | null;
  /** False if this process does not know who leads. Either it has read nothing for a lease, or one read was not enough. */
  readonly known: boolean;
  /** How much longer this candidate's leadership is valid without another renewal. */
  readonly validForMs?: number;
  /** The time since the lease was renewed, as far as this process has observed. Absent if nobody leads. */
  readonly leaseAgeMs?: number;
  readonly leaseDurationMs?: number;
  /** The time since the leader changed. Absent if it has not changed since this process started. */
  readonly changedMs?: number;
  readonly terms: readonly SeenTerm[];
  readonly alive?: boolean;
  readonly store: ContactHealth;
  /** The state in the store's list. Absent from a candidate. */
  readonly lease?: ListedElection["state"];
  /** Describes what blocks candidates, or why the record cannot be read. Only of a listed election. */
  readonly note?: string;
  /** Set if a listed election is an occurrence that is over. */
  readonly done?: boolean;
}

/** The kind of an event: `change` if the state of the election differs, `look` if only the ages are newer. */
export type Happening = "change" | "look";

/** The events that show only that the campaign goes on. They do not count as a change. */
const ROUTINE: ReadonlySet<PublishedEvent["name"]> = new Set(["renewed", "renewFailed", "listenerFailed"]);

/** One elector and its observed state, for the answers over HTTP. */
export class ServedElector implements Disposable {
  readonly elector: Elector;
  readonly #clock: Clock;
  readonly #terms = new SeenTerms();
  readonly #listeners = new Set<(happening: Happening) => void>();
  /** The instant at which a read, a renewal or an attempt last ended, with or without success. */
  #activeMs: number;
  #changedMs: number | undefined;
  #snapshot: { readonly seen: LeaseSnapshot | undefined; readonly atMs: number } | undefined;
  #overruns = false;
  /**
   * True after a term of this candidate ended without a release. Until its next read, this candidate does not know who leads.
   */
  #lostSight = false;
  #isFailing = false;

  constructor(elector: Elector, clock: Clock) {
    this.elector = elector;
    this.#clock = clock;
    this.#activeMs = clock.monotonicMs();
    subscribe(EVENT_CHANNEL, this.#onEvent);
    subscribe(LOOK_CHANNEL, this.#onLook);
  }

  [Symbol.dispose](): void {
    unsubscribe(EVENT_CHANNEL, this.#onEvent);
    unsubscribe(LOOK_CHANNEL, this.#onLook);
  }

  get election(): string {
    return this.elector.election;
  }

  /** Reports whether this candidate leads, and is not stopping. */
  get leads(): boolean {
    return this.elector.health().state === "leading";
  }

  /**
   * Reports whether the campaign goes on, even if the store fails. A store that pushes changes may be silent for a lease; the
   * elector polls it only after that.
   */
  get isAlive(): boolean {
    const { retryPeriodMs, attemptTimeoutMs, leaseDurationMs } = this.elector.timing;
    const silentMs = this.#clock.monotonicMs() - this.#activeMs;
    return (
      !this.#overruns && silentMs <= Math.max(3 * (retryPeriodMs + attemptTimeoutMs), leaseDurationMs + 2 * attemptTimeoutMs)
    );
  }

  /** Returns the leader. Null if nobody leads; undefined if this process does not know. */
  get leader(): Pick<Leader, "candidateId" | "term" | "value"> | null | undefined {
    const { candidateId, isLeader, lastSeen } = this.elector;
    const { term } = this.elector.health();
    const leader = lastSeen?.leader;
    if (isLeader && term !== undefined)
      return { candidateId, term, ...(leader?.value === undefined ? {} : { value: leader.value }) };
    // The last clause: the last read shows this candidate's own term, which is over.
    if (!this.#isFresh || leader?.state === "unknown" || (leader && leader.term === term)) return undefined;
    return leader
      ? { candidateId: leader.candidateId, term: leader.term, ...(leader.value === undefined ? {} : { value: leader.value }) }
      : null;
  }

  view(): ElectionView {
    const { election, candidateId, timing } = this.elector;
    const { state, leading, validForMs, term: _, ...store } = this.elector.health();
    const { leader } = this;
    const nowMs = this.#clock.monotonicMs();
    const leaseAgeMs = leading ? Math.max(timing.validForMs - validForMs, 0) : leader ? this.#ageMs(nowMs) : undefined;
    return {
      election,
      candidateId,
      state,
      leading,
      leader: leader ?? null,
      known: leader !== undefined,
      validForMs,
      ...(leaseAgeMs === undefined ? {} : { leaseAgeMs }),
      leaseDurationMs: (leading ? undefined : this.#snapshot?.seen?.leaseDurationMs) ?? timing.leaseDurationMs,
      ...(this.#changedMs === undefined ? {} : { changedMs: nowMs - this.#changedMs }),
      terms: this.#terms.at(nowMs),
      alive: this.isAlive,
      store,
    };
  }

  /** Calls a listener after each event. Returns a function that removes the listener. */
  onHappening(listener: (happening: Happening) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reports whether the last observation is no older than a lease. */
  get #isFresh(): boolean {
    const { lastSeen, timing } = this.elector;
    return lastSeen !== undefined && !this.#lostSight && lastSeen.ageMs <= timing.leaseDurationMs;
  }

  /** Returns the least age that the last observed lease can have. */
  #ageMs(nowMs: number): number | undefined {
    if (!this.#snapshot?.seen?.ageMs) return undefined;
    return this.#snapshot.seen.ageMs[0] + nowMs - this.#snapshot.atMs;
  }

  readonly #onLook = (message: unknown): void => {
    const { elector, snapshot, monotonicMs } = message as PublishedLook;
    if (elector.deref() !== this.elector) return;
    this.#activeMs = monotonicMs;
    this.#lostSight = false;
    this.#snapshot = { seen: snapshot, atMs: monotonicMs };
    this.#terms.recall(snapshot?.history ?? [], monotonicMs, this.#clock.wallMs());
    this.#tell(this.#failingChanged() ? "change" : "look");
  };

  readonly #onEvent = (message: unknown): void => {
    const published = message as PublishedEvent;
    if (published.elector.deref() !== this.elector) return;
    const { name, event, monotonicMs } = published;
    this.#activeMs = monotonicMs;
    if (name === "overrun") this.#overruns = true;
    if (name === "stoppedLeading") {
      this.#overruns = false;
      this.#lostSight = !event.released;
    }
    if (name === "newLeader") {
      this.#changedMs = monotonicMs;
      this.#terms.saw(event.leader, monotonicMs);
      this.#terms.recall(this.#snapshot?.seen?.history ?? [], monotonicMs, this.#clock.wallMs());
    }
    const isChange = this.#failingChanged() || !(ROUTINE.has(name) || name === "storeFailed");
    this.#tell(isChange ? "change" : "look");
  };

  /** Reports whether the store has begun or ceased to fail since the last call. */
  #failingChanged(): boolean {
    const isFailing = this.elector.health().lastError !== undefined;
    const changed = isFailing !== this.#isFailing;
    this.#isFailing = isFailing;
    return changed;
  }

  #tell(happening: Happening): void {
    for (const listener of [...this.#listeners]) listener(happening);
  }
}
