import type { Construct } from "constructs";
import { ProviderResource } from "../../terraform.ts";

/** The properties that all alerts have in common. */
export interface AlertProps {
  /**
   * The channels to notify: `projects/<project>/notificationChannels/<number>`, as `gcloud beta monitoring channels list` prints
   * them.
   * @default - none: incidents are only visible in the console
   */
  readonly notificationChannels?: readonly string[];
}

interface Alert {
  readonly project: string;
  readonly title: string;
  /** Instructions for the person who is alerted, in Markdown. */
  readonly text: string;
  /** The filter of a metric that counts something. */
  readonly filter: string;
  /** The alert is raised if the count within the window, over all series together, is below or above this number. */
  readonly raisedIf: { readonly fewerThan: number } | { readonly moreThan: number };
  /** 60 to 90,000, which is how far a policy looks back. */
  readonly windowSeconds: number;
}

/** The longest time that an alert policy looks back, its duration included: https://cloud.google.com/monitoring/quotas#alerting_uptime_limits */
export const LONGEST_WINDOW_SECONDS: number = 25 * 3_600;

/** Makes a policy on the count within a window. A policy for too few also alerts if there are no data at all. */
export function countAlert(
  scope: Construct,
  id: string,
  { notificationChannels = [] }: AlertProps,
  alert: Alert,
): ProviderResource {
  const { project, title, text, filter, raisedIf, windowSeconds } = alert;
  // The setting for missing data requires at least a minute.
  const durationSeconds = "fewerThan" in raisedIf ? 60 : 0;
  const alignmentSeconds = Math.min(Math.ceil(windowSeconds / 60) * 60, LONGEST_WINDOW_SECONDS - durationSeconds);
  return new ProviderResource(scope, id, "google_monitoring_alert_policy", {
    project,
    display_name: title,
    combiner: "OR",
    conditions: [
      {
        display_name: title,
        condition_threshold: {
          filter,
          ...("fewerThan" in raisedIf
            ? {
                comparison: "COMPARISON_LT",
                threshold_value: raisedIf.fewerThan,
                evaluation_missing_data: "EVALUATION_MISSING_DATA_ACTIVE",
              }
            : { comparison: "COMPARISON_GT", threshold_value: raisedIf.moreThan }),
          duration: `${durationSeconds}s`,
          aggregations: [
            {
              alignment_period: `${alignmentSeconds}s`,
              per_series_aligner: "ALIGN_DELTA",
              cross_series_reducer: "REDUCE_SUM",
            },
          ],
        },
      },
    ],
    notification_channels: notificationChannels,
    documentation: { content: text, mime_type: "text/markdown" },
  });
}
