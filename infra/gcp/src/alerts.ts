import type { Construct } from "constructs";
import { AlertPolicy } from "./google/monitoring.ts";

/** What all alerts have in common. */
export interface AlertProps {
  /**
   * Whom to tell: `projects/<project>/notificationChannels/<number>`, as `gcloud beta monitoring channels list` prints them.
   * @default - nobody: incidents are in the console alone
   */
  readonly notificationChannels?: readonly string[];
}

interface Alert {
  readonly project: string;
  readonly title: string;
  /** What to do about it, in Markdown. */
  readonly text: string;
  /** Of a metric that counts something. */
  readonly filter: string;
  /** It is raised where the count within the window, of all series together, is below or above. */
  readonly raisedIf: { readonly fewerThan: number } | { readonly moreThan: number };
  /** 60 to 90,000, which is how far a policy looks back. */
  readonly windowSeconds: number;
}

/** The farthest that an alert policy looks back: https://cloud.google.com/monitoring/quotas#alerting_uptime_limits */
export const LONGEST_WINDOW_SECONDS: number = 25 * 3_600;

/** A policy on how much is counted within a window. Where too little is alarming, nothing at all is too. */
export function countAlert(scope: Construct, id: string, { notificationChannels = [] }: AlertProps, alert: Alert): AlertPolicy {
  const { project, title, text, filter, raisedIf, windowSeconds } = alert;
  const minutes = Math.ceil(windowSeconds / 60);
  return new AlertPolicy(scope, id, {
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
                // What says how missing data are taken needs a minute at least.
                duration: "60s",
                evaluation_missing_data: "EVALUATION_MISSING_DATA_ACTIVE",
              }
            : { comparison: "COMPARISON_GT", threshold_value: raisedIf.moreThan, duration: "0s" }),
          aggregations: [
            {
              alignment_period: `${Math.min(minutes * 60, LONGEST_WINDOW_SECONDS)}s`,
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
