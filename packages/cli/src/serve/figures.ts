import {
  electionMetrics,
  REQUEST_BOUNDS,
  TAKEOVER_BOUNDS,
  type ElectionMeters,
  type MeasuredElection,
  type StoreRequest,
} from "@leasehold/core/diagnostics";
import { Histogram } from "./histogram.ts";
import { Family, familyText, histogramText } from "./metric-family.ts";

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
  readonly #measurement = electionMetrics(this);

  [Symbol.dispose](): void {
    this.#measurement.stop();
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

  /** Returns all metrics as text. Computes the gauges at the call. */
  text(leases: readonly ConfiguredLease[]): string {
    const elections = this.#measurement.elections();
    const gauge = (name: string, help: string, valueOf: (election: MeasuredElection) => number | undefined): string => {
      const samples = elections.flatMap((each) => {
        const value = valueOf(each);
        return value === undefined ? [] : [{ labels: { election: each.election }, value }];
      });
      return familyText(name, "gauge", help, samples);
    };
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
      familyText(
        "leasehold_candidates",
        "gauge",
        "The candidates of this process in each state.",
        elections.flatMap(({ election, candidates }) =>
          Object.entries(candidates).map(([state, value]) => ({ labels: { election, state }, value })),
        ),
      ),
      familyText(
        "leasehold_lease_duration_seconds",
        "gauge",
        "How long rivals wait after the last renewal.",
        leases.map(({ election, leaseDurationMs }) => ({ labels: { election }, value: leaseDurationMs / 1_000 })),
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
    ].join("");
  }
}
