// The exports for programs that watch elections: diagnostics channels, metrics, and how errors are shortened for both.

import "./node-version.ts";

export { EVENT_CHANNEL, LOOK_CHANNEL, RENEWAL_CHANNEL } from "./election/elector-channels.ts";
export type { PublishedEvent, PublishedLook, PublishedRenewal } from "./election/elector-channels.ts";
export { OVERRUN_EXIT_CODE } from "./election/elector-reporter.ts";
export { OCCURRENCE_CHANNEL, type PublishedOccurrence } from "./occurrences/occurrence-channel.ts";
export { electionMetrics, endReasonOf, LATENESS_BOUNDS } from "./metrics/election-metrics.ts";
export { REQUEST_BOUNDS, TAKEOVER_BOUNDS, type ElectionMeters } from "./metrics/election-metrics.ts";
export { fleetMetrics } from "./metrics/fleet-metrics.ts";
export { METRIC_NAMES, publishMetrics, type PublishedMetrics, type PublishMetricsOptions } from "./metrics/metric-lines.ts";
export { FLEET_CHANNEL, type FleetHandle, type FleetTotals, type PublishedFleetEvent } from "./reporting/fleet-channel.ts";
export { REQUEST_CHANNEL, STATE_CHANNEL, type ElectorState } from "./reporting/diagnostics.ts";
export type { StateChange, StoreRequest } from "./reporting/diagnostics.ts";
export type { WarningCode } from "./reporting/journal.ts";
export { summarizeError } from "./reporting/redact.ts";
export { ELECTION_DIMENSION, isDimensionValue, metricFields, METRICS_NAMESPACE } from "./reporting/metric-line.ts";
