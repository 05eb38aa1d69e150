import type { LogAttributes } from "./logger.ts";

export const METRICS_NAMESPACE = "Leasehold";
export const ELECTION_DIMENSION = "Election";

/** The texts that CloudWatch takes as the value of a dimension. https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_Dimension.html */
const DIMENSION_VALUE = /^(?=.*[!-~])[ -~]{1,255}$/;

export interface MetricLine {
  readonly wallMs: number;
  /** The only dimension. CloudWatch bills each value of it as a metric of its own. */
  readonly dimension: readonly [name: string, value: string];
  readonly metrics: readonly Metric[];
}

export interface Metric {
  readonly name: string;
  readonly unit: "Count" | "None";
  readonly value: number;
}

export function isDimensionValue(text: string): boolean {
  return DIMENSION_VALUE.test(text);
}

/**
 * Returns the fields that turn a line of JSON into CloudWatch's embedded metric format. The line may have other fields.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export function metricFields({ wallMs, dimension, metrics }: MetricLine): LogAttributes {
  const [name, value] = dimension;
  return {
    _aws: {
      Timestamp: Math.floor(wallMs),
      CloudWatchMetrics: [
        {
          Namespace: METRICS_NAMESPACE,
          Dimensions: [[name]],
          Metrics: metrics.map((metric) => ({ Name: metric.name, Unit: metric.unit })),
        },
      ],
    },
    [name]: value,
    ...Object.fromEntries(metrics.map((metric) => [metric.name, metric.value])),
  };
}
