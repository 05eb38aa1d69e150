import { ProviderResource } from "@leasehold/infra-terrain";

export interface LogMetricArguments {
  readonly project: string;
  readonly name: string;
  readonly description: string;
  readonly filter: string;
  readonly metric_descriptor: { readonly metric_kind: "DELTA"; readonly value_type: "INT64" };
}

/** A metric that counts lines of the logs. */
export class LogMetric extends ProviderResource<LogMetricArguments> {
  static override readonly terraformType: string = "google_logging_metric";

  get name(): string {
    return this.getStringAttribute("name");
  }
}

export interface AlertPolicyArguments {
  readonly project: string;
  readonly display_name: string;
  readonly combiner: "OR";
  readonly conditions: readonly {
    readonly display_name: string;
    readonly condition_threshold: {
      readonly filter: string;
      readonly comparison: "COMPARISON_LT" | "COMPARISON_GT";
      readonly threshold_value: number;
      readonly duration: string;
      readonly evaluation_missing_data?: "EVALUATION_MISSING_DATA_ACTIVE" | "EVALUATION_MISSING_DATA_INACTIVE";
      readonly aggregations: readonly {
        readonly alignment_period: string;
        readonly per_series_aligner: "ALIGN_DELTA";
        readonly cross_series_reducer: "REDUCE_SUM";
      }[];
    };
  }[];
  readonly notification_channels: readonly string[];
  readonly documentation: { readonly content: string; readonly mime_type: "text/markdown" };
}

export class AlertPolicy extends ProviderResource<AlertPolicyArguments> {
  static override readonly terraformType: string = "google_monitoring_alert_policy";
}
