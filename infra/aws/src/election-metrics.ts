import { ELECTION_DIMENSION, METRIC_NAMES, METRICS_NAMESPACE } from "@leasehold/dynamodb/cloudwatch";
import { Metric, Stats, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { Duration } from "aws-cdk-lib/core";

/** 1 in a minute in which a candidate of the election led. 0 in a minute in which candidates ran and none led. */
export function isLeaderMetric(election: string, options?: MetricOptions): Metric {
  return electionMetric(election, METRIC_NAMES.isLeader, { statistic: Stats.MAXIMUM, ...options });
}

/** A metric that candidates write by `publishMetrics` of `@leasehold/dynamodb/cloudwatch`. */
export function electionMetric(election: string, metricName: string, options: MetricOptions): Metric {
  const dimensionsMap = { [ELECTION_DIMENSION]: election };
  return new Metric({ namespace: METRICS_NAMESPACE, metricName, dimensionsMap, period: Duration.minutes(1), ...options });
}
