import { ConfigurationError } from "@leasehold/core";
import { checkName } from "@leasehold/core/provider";
import { ELECTION_DIMENSION, isDimensionValue, METRIC_NAMES, METRICS_NAMESPACE } from "@leasehold/core/diagnostics";
import { Metric, Stats, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { Duration } from "aws-cdk-lib/core";

/**
 * Is 1 in a minute in which a candidate of this region led, or observed a leader in any region. Is 0 if the candidates knew no leader.
 * A minute without candidates has no value.
 */
export function hasLeaderMetric(election: string, options?: MetricOptions): Metric {
  return electionMetric(election, METRIC_NAMES.hasLeader, { statistic: Stats.MAXIMUM, ...options });
}

/** A metric that candidates write by `publishMetrics` of `@leasehold/core/diagnostics`. */
export function electionMetric(election: string, metricName: string, options: MetricOptions): Metric {
  const dimensionsMap = { [ELECTION_DIMENSION]: election };
  return new Metric({ namespace: METRICS_NAMESPACE, metricName, dimensionsMap, period: Duration.minutes(1), ...options });
}

/** @throws {ConfigurationError} for an invalid name of an election, or one that CloudWatch refuses as the value of a dimension. */
export function checkElectionDimension(election: string): void {
  checkName("election", election);
  if (isDimensionValue(election)) return;
  throw new ConfigurationError(
    `CloudWatch takes printable ASCII characters alone as the value of a dimension, and the election is called ${JSON.stringify(election)}. Give it another name, or do without these metrics.`,
    { election },
  );
}
