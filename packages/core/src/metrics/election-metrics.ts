import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import {
  EVENT_CHANNEL,
  LOOK_CHANNEL,
  RENEWAL_CHANNEL,
  type ElectorHandle,
  type PublishedEvent,
  type PublishedLook,
  type PublishedRenewal,
} from "../election/elector-channels.ts";
import { withoutOccurrence } from "../occurrences/occurrence.ts";
import { OCCURRENCE_CHANNEL, type PublishedOccurrence } from "../occurrences/occurrence-channel.ts";
import { listen, REQUEST_CHANNEL, type ElectorState, type StoreRequest } from "../reporting/diagnostics.ts";
import { isLeaseholdError } from "../reporting/errors.ts";

/** Histogram bounds, in seconds, for requests: a store takes milliseconds to seconds for them. */
export const REQUEST_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Histogram bounds, in seconds, for takeovers: they take up to a few leases. */
export const TAKEOVER_BOUNDS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60, 120];
/** Histogram bounds, in seconds, for how late an occurrence's task begins: from a difference of clocks to an outage of a day. */
export const LATENESS_BOUNDS: readonly number[] = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400];

/** The receiver of metrics. Occurrences of a schedule come under the name of the schedule. */
export interface ElectionMeters {
  /** An elector published something for the first time. Counters of its election begin at 0 here. */
  known?(election: string): void;
  /** A candidate began to lead (`elected`), or its leadership began to end, for a reason of {@link endReasonOf}. */
  transition(election: string, reason: string): void;
  /** A renewal ended. `outcome` is as in {@link PublishedRenewal}. */
  renewal(election: string, durationMs: number, outcome: string): void;
  /**
   * A candidate took over, after `durationMs` without a leader. After a leader's death, `durationMs` begins with its last
   * renewal. After a release, it begins with the last poll that still showed the leader.
   */
  takeover(election: string, durationMs: number): void;
  overrun(election: string): void;
  request(request: StoreRequest): void;
  occurrence?(occurrence: PublishedOccurrence): void;
}

/** One election in which this process has candidates, at this moment. */
export interface MeasuredElection {
  readonly election: string;
  readonly isLeader: boolean;
  /** The milliseconds for which this process stays the leader without another renewal; 0 if none of its candidates leads. */
  readonly remainingMs: number;
  /** The term in which a candidate of this process leads; undefined if none leads. */
  readonly term?: number | undefined;
  /** The number of this process's candidates in each state. An elector that does not campaign is no candidate. */
  readonly candidates: Readonly<Record<Exclude<ElectorState, "stopped">, number>>;
  /** The number of members of the store that do not count; undefined if the store is not made of several. */
  readonly absentMembers?: number | undefined;
}

export interface Measurement {
  /** Returns every election with a published message since the start. The values are computed from the clocks. */
  elections(): readonly MeasuredElection[];
  stop(): void;
}

/** Measures every elector of this process by the diagnostics channels. Keeps no elector alive. The only label is the election. */
export function electionMetrics(meters: ElectionMeters): Measurement {
  const electors = new Set<WeakRef<ElectorHandle>>();
  const gone = new FinalizationRegistry<WeakRef<ElectorHandle>>((elector) => void electors.delete(elector));
  const leaderless = new WeakMap<WeakRef<ElectorHandle>, Leaderless>();
  const of = (elector: WeakRef<ElectorHandle>): Leaderless => {
    const known = leaderless.get(elector);
    if (known) return known;
    const handle = elector.deref();
    if (handle) gone.register(handle, elector);
    if (handle) meters.known?.(withoutOccurrence(handle.election));
    const made = new Leaderless();
    electors.add(elector);
    leaderless.set(elector, made);
    return made;
  };
  const onEvent = (published: PublishedEvent): void => {
    const { name, event, elector, monotonicMs } = published;
    const election = withoutOccurrence(event.election);
    const gap = of(elector);
    if (name === "startedLeading") {
      const lastedMs = gap.lastedMs(monotonicMs);
      gap.leads(monotonicMs);
      meters.transition(election, "elected");
      if (lastedMs !== undefined) meters.takeover(election, lastedMs);
    } else if (name === "renewed") gap.leads(monotonicMs);
    else if (name === "ending") meters.transition(election, endReasonOf(event.reason));
    else if (name === "stoppedLeading") {
      if (event.reason === undefined) meters.transition(election, endReasonOf());
      if (event.released) gap.released(monotonicMs);
    } else if (name === "overrun") meters.overrun(election);
  };
  const onLook = ({ elector, snapshot, monotonicMs }: PublishedLook): void => of(elector).saw(snapshot, monotonicMs);
  const onRenewal = ({ election, durationMs, outcome }: PublishedRenewal): void =>
    meters.renewal(withoutOccurrence(election), durationMs, outcome);
  const onRequest = (request: StoreRequest): void =>
    meters.request({ ...request, election: withoutOccurrence(request.election) });
  const stops = [
    listen(EVENT_CHANNEL, onEvent),
    listen(LOOK_CHANNEL, onLook),
    listen(RENEWAL_CHANNEL, onRenewal),
    listen(REQUEST_CHANNEL, onRequest),
    ...(meters.occurrence ? [listen(OCCURRENCE_CHANNEL, (ended: PublishedOccurrence) => meters.occurrence?.(ended))] : []),
  ];
  return {
    elections: () => measured(electors),
    stop: () => {
      for (const stop of stops) stop();
      electors.clear();
    },
  };
}

function measured(electors: Iterable<WeakRef<ElectorHandle>>): MeasuredElection[] {
  const found = new Map<string, MeasuredElection>();
  for (const reference of electors) {
    const elector = reference.deref();
    if (!elector) continue;
    const election = withoutOccurrence(elector.election);
    const { state, validForMs, term, members } = elector.health();
    const before = found.get(election);
    const remainingMs = Math.max(before?.remainingMs ?? 0, validForMs);
    const candidates = { standby: 0, leading: 0, ending: 0, ...before?.candidates };
    if (state !== "stopped") candidates[state] += 1;
    found.set(election, {
      election,
      isLeader: remainingMs > 0,
      remainingMs,
      term: validForMs > 0 ? term : before?.term,
      candidates,
      absentMembers: members?.filter(({ counts }) => !counts).length ?? before?.absentMembers,
    });
  }
  return [...found.values()];
}

/**
 * Returns why a leadership ended, from the error of its `ending` event. The reason of a LeaseLostError or LeadershipEndedError is
 * returned as it is. `settled`: there is no error, because the task ended by itself. `stopped`: the error is any other reason,
 * given by the caller.
 */
export function endReasonOf(error?: Error): string {
  if (error === undefined) return "settled";
  // A caller may abort with any value, also with null.
  const { reason } = (error ?? {}) as { readonly reason?: unknown };
  return (isLeaseholdError(error, "LEASE_LOST") || isLeaseholdError(error, "LEADERSHIP_ENDED")) && typeof reason === "string"
    ? reason
    : "stopped";
}

/** Measures how long an election has no leader, as one candidate observes it; see `takeover` of the meters. */
export class Leaderless {
  #heldMs: number | undefined;
  #renewedMs = -Infinity;
  #sinceMs: number | undefined;

  saw(snapshot: LeaseSnapshot | undefined, atMs: number): void {
    if (snapshot?.state === "vacant") this.#sinceMs ??= this.#heldMs;
    // An expired lease changes nothing. The time without a leader counts from its last renewal.
    else if (snapshot?.holder !== undefined && snapshot.state !== "expired") {
      this.#held(atMs, atMs - (snapshot.ageMs?.[0] ?? 0));
    }
  }

  leads(atMs: number): void {
    this.#held(atMs, atMs);
  }

  released(atMs: number): void {
    this.#sinceMs = atMs;
  }

  /** Returns the time without a leader for a candidate that begins to lead; undefined if it observed no leader before. */
  lastedMs(atMs: number): number | undefined {
    const sinceMs = this.#sinceMs ?? (this.#heldMs === undefined ? undefined : this.#renewedMs);
    return sinceMs === undefined ? undefined : atMs - sinceMs;
  }

  #held(atMs: number, renewedMs: number): void {
    this.#heldMs = atMs;
    this.#renewedMs = Math.max(this.#renewedMs, renewedMs);
    this.#sinceMs = undefined;
  }
}
