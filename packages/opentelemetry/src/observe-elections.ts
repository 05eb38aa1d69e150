import * as api from "@opentelemetry/api";
import {
  electionMetrics,
  LATENESS_BOUNDS,
  REQUEST_BOUNDS,
  TAKEOVER_BOUNDS,
  type ElectionMeters,
} from "@leasehold/core/diagnostics";
import manifest from "../package.json" with { type: "json" };
import { emitEvents } from "./events.ts";
import { observeFleets } from "./observe-fleets.ts";

export interface ObserveElectionsOptions {
  /** @defaultValue the global provider's meter; set the provider before */
  readonly meter?: api.Meter | undefined;
  /**
   * The logger that gets the events. With `false` no events are emitted.
   * @defaultValue the global provider's logger. `@opentelemetry/api` before 1.10 has none, so no events are emitted
   */
  readonly logger?: api.Logger | false | undefined;
}

/** A running observation, which goes on until `stop()` is called. */
export interface Observation {
  stop(): void;
}

/**
 * Reports every elector and every fleet of this process to OpenTelemetry, as metrics and as events, from now on. Call this
 * function once, after the SDK was started, because a meter that was requested earlier does nothing.
 *
 * Gauges are computed when they are read. So a process that was frozen for longer than its lease never reports that it leads. No
 * metric has a candidate or a term among its attributes. Occurrences of a schedule count under the schedule's name. So the number
 * of series depends only on elections, reasons and outcomes. Events contain the candidate and the term.
 *
 * @example
 * ```ts
 * const observation = observeElections();
 * ```
 */
export function observeElections({ meter, logger }: ObserveElectionsOptions = {}): Observation {
  const { name, version } = manifest;
  const given = meter ?? api.metrics.getMeter(name, version);
  const stops = [observeMetrics(given), observeFleets(given)];
  // `@opentelemetry/api` has the logs API since 1.10.
  const { logs } = api as Partial<typeof api>;
  const events = logger ?? logs?.getLogger(name, version);
  if (events) stops.push(emitEvents(events));
  return {
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

function observeMetrics(meter: api.Meter): () => void {
  const leader = meter.createObservableGauge("leasehold.leader", {
    description: "1 where this process leads the election.",
  });
  const remaining = meter.createObservableGauge("leasehold.lease.remaining", {
    description: "For how much longer this process may lead without another renewal.",
    unit: "s",
  });
  const terms = meter.createObservableGauge("leasehold.term", { description: "The term in which this process leads." });
  const candidates = meter.createObservableGauge("leasehold.candidates", {
    description: "The candidates of this process in each state.",
    unit: "{candidate}",
  });
  const absent = meter.createObservableGauge("leasehold.store.members.absent", {
    description: "The servers or stores that the store is made of and that do not count at present.",
    unit: "{member}",
  });
  const measurement = electionMetrics(metersOf(meter));
  const observe: api.BatchObservableCallback = (result) => {
    for (const { election, isLeader, remainingMs, term, candidates: counts, absentMembers } of measurement.elections()) {
      const attributes = { "leasehold.election": election };
      result.observe(leader, isLeader ? 1 : 0, attributes);
      result.observe(remaining, remainingMs / 1_000, attributes);
      if (term !== undefined) result.observe(terms, term, attributes);
      for (const [state, count] of Object.entries(counts)) {
        result.observe(candidates, count, { ...attributes, "leasehold.state": state });
      }
      if (absentMembers !== undefined) result.observe(absent, absentMembers, attributes);
    }
  };
  const gauges = [leader, remaining, terms, candidates, absent];
  meter.addBatchObservableCallback(observe, gauges);
  return () => {
    meter.removeBatchObservableCallback(observe, gauges);
    measurement.stop();
  };
}

function metersOf(meter: api.Meter): ElectionMeters {
  const duration = (name: string, description: string, explicitBucketBoundaries: number[]): api.Histogram =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries } });
  const transitions = meter.createCounter("leasehold.transitions", {
    description: "Terms of this process that began (reason elected) or ended, and why.",
    unit: "{transition}",
  });
  const overruns = meter.createCounter("leasehold.overruns", {
    description: "Tasks that outlasted their time.",
    unit: "{overrun}",
  });
  const renewals = duration("leasehold.renewal.duration", "How long renewals took.", [...REQUEST_BOUNDS]);
  const takeovers = duration("leasehold.takeover.duration", "How long nobody led before this process took over.", [
    ...TAKEOVER_BOUNDS,
  ]);
  const requests = duration("leasehold.store.request.duration", "How long requests to the store took.", [...REQUEST_BOUNDS]);
  const occurrences = meter.createCounter("leasehold.occurrences", {
    description: "Occurrences of schedules that ended in this process, and how.",
    unit: "{occurrence}",
  });
  const lateness = duration("leasehold.occurrence.lateness", "How late after it was due the task of an occurrence began.", [
    ...LATENESS_BOUNDS,
  ]);
  const of = (election: string, more: api.Attributes = {}): api.Attributes => ({ "leasehold.election": election, ...more });
  return {
    known: (election) => {
      transitions.add(0, of(election, { "leasehold.reason": "elected" }));
      overruns.add(0, of(election));
    },
    transition: (election, reason) => transitions.add(1, of(election, { "leasehold.reason": reason })),
    renewal: (election, durationMs, outcome) =>
      renewals.record(durationMs / 1_000, of(election, { "leasehold.outcome": outcome })),
    takeover: (election, durationMs) => takeovers.record(durationMs / 1_000, of(election)),
    overrun: (election) => overruns.add(1, of(election)),
    occurrence: ({ name, outcome, lateMs }) => {
      occurrences.add(1, of(name, { "leasehold.outcome": outcome }));
      // A histogram takes no negative value, so a task that begins early by this host's clock counts as on time.
      if (lateMs !== undefined) lateness.record(Math.max(lateMs, 0) / 1_000, of(name));
    },
    request: ({ store, operation, outcome, durationMs }) =>
      requests.record(durationMs / 1_000, {
        "leasehold.store": store,
        "leasehold.operation": operation,
        "leasehold.outcome": outcome,
      }),
  };
}
