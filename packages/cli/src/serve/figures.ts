import {
  electionMetrics,
  fleetMetrics,
  REQUEST_BOUNDS,
  TAKEOVER_BOUNDS,
  type ElectionMeters,
  type StoreRequest,
} from "@leasehold/core/diagnostics";
import { Family, familyText, Histogram, histogramText, type Labels, type Sample } from "./metric-family.ts";

/** A fleet as a whole: as its coordinator knows it, or as it was read. */
export interface WholeFleet {
  readonly fleet: string;
  readonly members: number;
  /** The number of shards in each state. */
  readonly shards: Readonly<Record<string, number>>;
  readonly imbalance: number;
  readonly planBytes?: number | undefined;
}

/** The lease of an election, as configured in this process. */
export interface ConfiguredLease {
  readonly election: string;
  readonly leaseDurationMs: number;
}

/** The content type of `GET /metrics`: the text format of Prometheus. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The metrics of every elector of this process. The measurement begins here and lasts until the disposal. */
export class Figures implements ElectionMeters, Disposable {
  readonly #transitions = new Family(() => 0);
  readonly #overruns = new Family(() => 0);
  readonly #renewals = new Family(() => new Histogram(REQUEST_BOUNDS));
  readonly #takeovers = new Family(() => new Histogram(TAKEOVER_BOUNDS));
  readonly #requests = new Family(() => new Histogram(REQUEST_BOUNDS));
  readonly #fleetEvents = new Family(() => 0);
  readonly #measurement = electionMetrics(this);
  readonly #fleets = fleetMetrics((fleet, event, count) => void (this.#fleetEvents.of({ fleet, event }).value += count));

  [Symbol.dispose](): void {
    this.#measurement.stop();
    this.#fleets.stop();
  }

  /** Shows these counters from 0 on. Prometheus' increase() does not see the first step of a counter that was absent before. */
  known(election: string): void {
    this.#transitions.of({ election, reason: "elected" });
    this.#overruns.of({ election });
  }

  transition(election: string, reason: string): void {
    this.#transitions.of({ election, reason }).value += 1;
  }

  renewal(election: string, durationMs: number, outcome: string): void {
    this.#renewals.of({ election, outcome }).value.observe(durationMs / 1_000);
  }

  takeover(election: string, durationMs: number): void {
    this.#takeovers.of({ election }).value.observe(durationMs / 1_000);
  }

  overrun(election: string): void {
    this.#overruns.of({ election }).value += 1;
  }

  request({ store, operation, outcome, durationMs }: StoreRequest): void {
    this.#requests.of({ store, operation, outcome }).value.observe(durationMs / 1_000);
  }

  /**
   * Returns all metrics as text. Computes the gauges at the call.
   * @param readFleets the fleets that this process shows without being a member.
   */
  text(leases: readonly ConfiguredLease[], readFleets: readonly WholeFleet[] = []): string {
    const elections = this.#measurement.elections();
    const gauge = gaugesOf(elections, ({ election }) => ({ election }));
    const states = elections.flatMap(({ election, candidates }) => byState({ election }, candidates));
    return [
      gauge("leasehold_leader", "1 where this process leads the election.", ({ isLeader }) => Number(isLeader)),
      gauge(
        "leasehold_lease_remaining_seconds",
        "For how much longer this process may lead without another renewal.",
        ({ remainingMs }) => remainingMs / 1_000,
      ),
      gauge("leasehold_term", "The term in which this process leads.", ({ term }) => term),
      gauge(
        "leasehold_store_members_absent",
        "The servers or stores that the store is made of and that do not count at present.",
        ({ absentMembers }) => absentMembers,
      ),
      familyText("leasehold_candidates", "gauge", "The candidates of this process in each state.", states),
      gaugesOf(leases, ({ election }) => ({ election }))(
        "leasehold_lease_duration_seconds",
        "How long rivals wait after the last renewal.",
        ({ leaseDurationMs }) => leaseDurationMs / 1_000,
      ),
      familyText(
        "leasehold_transitions_total",
        "counter",
        "Terms of this process that began (reason elected) or ended, and why.",
        this.#transitions,
      ),
      familyText("leasehold_overruns_total", "counter", "Tasks that outlasted their time.", this.#overruns),
      histogramText("leasehold_renewal_duration_seconds", "How long renewals took.", this.#renewals),
      histogramText("leasehold_takeover_duration_seconds", "How long nobody led before this process took over.", this.#takeovers),
      histogramText("leasehold_store_request_duration_seconds", "How long requests to the store took.", this.#requests),
      this.#fleetText(readFleets),
    ].join("");
  }

  #fleetText(read: readonly WholeFleet[]): string {
    const own = this.#fleets.fleets();
    const coordinated = own.flatMap(({ fleet, totals }) => {
      if (!totals || read.some((one) => one.fleet === fleet)) return [];
      const { held, leaving, free, ...rest } = totals;
      return [{ fleet, shards: { held, leaving, free }, ...rest }];
    });
    const all: readonly WholeFleet[] = [...coordinated, ...read];
    const gauge = gaugesOf(all, ({ fleet }) => ({ fleet }));
    const states = all.flatMap(({ fleet, shards }) => byState({ fleet }, shards));
    return [
      gaugesOf(own, ({ fleet }) => ({ fleet }))(
        "leasehold_fleet_held",
        "Shards that this process holds, valid at this moment.",
        ({ held }) => held,
      ),
      familyText("leasehold_fleet_shards", "gauge", "Shards of the whole fleet by their state.", states),
      gauge("leasehold_fleet_members", "Members of the whole fleet.", ({ members }) => members),
      gauge("leasehold_fleet_imbalance", "The most shards of a member less the least.", ({ imbalance }) => imbalance),
      gauge("leasehold_fleet_plan_bytes", "The size of the plan.", ({ planBytes }) => planBytes),
      familyText("leasehold_fleet_events_total", "counter", "Events of this process's members.", this.#fleetEvents),
    ].join("");
  }
}

/** Returns a function that makes gauges of some subjects. A subject without a value is left out. */
function gaugesOf<Subject>(
  subjects: readonly Subject[],
  labelsOf: (subject: Subject) => Labels,
): (name: string, help: string, valueOf: (subject: Subject) => number | undefined) => string {
  return (name, help, valueOf) => {
    const samples = subjects.flatMap((subject) => {
      const value = valueOf(subject);
      return value === undefined ? [] : [{ labels: labelsOf(subject), value }];
    });
    return familyText(name, "gauge", help, samples);
  };
}

/** Returns a sample for each state. */
function byState(labels: Labels, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([state, value]) => ({ labels: { ...labels, state }, value }));
}
