import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  EVENT_CHANNEL,
  LOOK_CHANNEL,
  type Clock,
  type ContactHealth,
  type Elector,
  type ElectorState,
  type Leader,
  type LeaseSnapshot,
  type PublishedEvent,
  type PublishedLook,
} from "@leasehold/core";
import { SeenTerms, type SeenTerm } from "./seen-terms.ts";

/** An election as this candidate sees it at this very moment. All times are in milliseconds, and count back from now. */
export interface ElectionView {
  readonly election: string;
  readonly candidateId: string;
  readonly state: ElectorState;
  /** This candidate leads, and its leadership is valid. */
  readonly leading: boolean;
  /** The leader, or null: see `known`. */
  readonly leader: Pick<Leader, "candidateId" | "term" | "value"> | null;
  /** False where nobody here can tell who leads: nothing was seen for a lease, or too little yet. */
  readonly known: boolean;
  /** For how much longer this candidate's leadership is valid without another renewal. */
  readonly validForMs: number;
  /** How long ago the lease was renewed, as far as was seen; absent where nobody leads. */
  readonly leaseAgeMs?: number;
  readonly leaseDurationMs: number;
  /** How long ago the leader changed, since this process started; absent if it never did. */
  readonly changedMs?: number;
  readonly terms: readonly SeenTerm[];
  readonly alive: boolean;
  readonly store: ContactHealth;
}

/** What has happened: `change` where a person would say so, `look` where only the ages are newer. */
export type Happening = "change" | "look";

/** The events that tell of a campaign that goes on, and of nothing that a person would call a change. */
const ROUTINE: ReadonlySet<PublishedEvent["name"]> = new Set(["renewed", "renewFailed", "listenerFailed"]);

/** One elector, as others ask about it over HTTP. */
export class Candidate implements Disposable {
  readonly elector: Elector;
  readonly #clock: Clock;
  readonly #terms = new SeenTerms();
  readonly #listeners = new Set<(happening: Happening) => void>();
  /** When a look, a renewal or an attempt last ended, well or not. */
  #activeMs: number;
  #changedMs: number | undefined;
  #snapshot: { readonly seen: LeaseSnapshot | undefined; readonly atMs: number } | undefined;
  #overruns = false;
  /** Its own lease was left to run out: until it looks again, somebody else may lead or nobody. */
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

  /** Reports whether it leads, and is not ending. */
  get leads(): boolean {
    return this.elector.health().state === "leading";
  }

  /** Reports whether it would take over: it stands by, and has looked within a lease. */
  get standsBy(): boolean {
    return this.elector.health().state === "standby" && this.#isFresh;
  }

  /**
   * Reports whether the campaign goes on, whatever the store does. A store that pushes may be quiet for a lease, and then be
   * looked at again.
   */
  get isAlive(): boolean {
    const { retryPeriodMs, attemptTimeoutMs, leaseDurationMs } = this.elector.timing;
    const silentMs = this.#clock.monotonicMs() - this.#activeMs;
    return (
      !this.#overruns && silentMs <= Math.max(3 * (retryPeriodMs + attemptTimeoutMs), leaseDurationMs + 2 * attemptTimeoutMs)
    );
  }

  /** Returns the leader, null where nobody leads, or undefined where nobody here can tell. */
  get leader(): Pick<Leader, "candidateId" | "term" | "value"> | null | undefined {
    const { candidateId, isLeader, lastSeen } = this.elector;
    const { term } = this.elector.health();
    const leader = lastSeen?.leader;
    if (isLeader && term !== undefined)
      return { candidateId, term, ...(leader?.value === undefined ? {} : { value: leader.value }) };
    // Its own leadership is over, and nothing was seen since.
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

  /** Calls back after each thing that happens; returns a function that ends that. */
  onHappening(listener: (happening: Happening) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reports whether what was seen last is no older than a lease. */
  get #isFresh(): boolean {
    const { lastSeen, timing } = this.elector;
    return lastSeen !== undefined && !this.#lostSight && lastSeen.ageMs <= timing.leaseDurationMs;
  }

  /** The least age of the lease that was seen last. */
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
    }
    const isChange = this.#failingChanged() || !(ROUTINE.has(name) || name === "storeFailed");
    this.#tell(isChange ? "change" : "look");
  };

  /** Reports whether the store has begun to fail, or has ceased to, since this was asked last. */
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
