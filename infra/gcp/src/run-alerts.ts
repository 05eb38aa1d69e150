import { Construct } from "constructs";
import { countAlert, LONGEST_WINDOW_SECONDS, type AlertProps } from "./alerts.ts";
import { ProviderResource } from "../../terraform.ts";

/** A schedule of Cloud Scheduler, and the tries of its occurrences. */
export interface ScheduledRuns {
  readonly project: string;
  /** The schedule's name. */
  readonly name: string;
  readonly location: string;
  /** The number of failures after which an occurrence is not yet lost. */
  readonly failuresBorne: number;
  /** The longest time of an occurrence's tries, in seconds. */
  readonly windowSeconds: number;
}

export interface RunAlertsProps extends AlertProps {
  /** A `LeaderScheduledFunction`. */
  readonly of: { readonly runs: ScheduledRuns };
  /**
   * The longest time between two runs without an alert, in whole hours: 1 to 25. Use a schedule's period and some time more. A
   * policy looks back no further: for a longer schedule see site/pages/infrastructure.md.
   * @default - no such alert
   */
  readonly notRunForHours?: number;
}

/**
 * Alerts for a schedule, by Cloud Scheduler's own log. They go off if no delivery has succeeded for so many hours, or if all tries
 * of an occurrence have failed. A delivery that Cloud Run refuses before the function is a failure, too. Cloud Scheduler has no
 * dead-letter queue, so only these alerts show such an occurrence.
 */
export class RunAlerts extends Construct {
  readonly notRun: ProviderResource | undefined;
  readonly failed: ProviderResource;

  /** @throws {Error} for hours that no policy can look back for. */
  constructor(scope: Construct, id: string, props: RunAlertsProps) {
    super(scope, id);
    const { notRunForHours: hours, of } = props;
    const { project, name, location, failuresBorne, windowSeconds } = of.runs;
    const where = `${name} in ${location}`;
    if (hours !== undefined) {
      checkHours(hours);
      this.notRun = countAlert(this, "NotRun", props, {
        project,
        title: `${where}: not run for ${hours} hours`,
        text: `No delivery of \`${name}\` has succeeded for ${hours} hours. Look at the job of Cloud Scheduler: is it paused, and what was it answered?`,
        filter: this.#attempts(of.runs, "succeeded"),
        raisedIf: { fewerThan: 1 },
        windowSeconds: hours * 3_600,
      });
    }
    this.failed = countAlert(this, "Failed", props, {
      project,
      title: `${where}: an occurrence has failed`,
      text: `\`${name}\` has failed as often as it is tried: the occurrence is lost, unless it is caught up on. Its logs say why.`,
      filter: this.#attempts(of.runs, "failed"),
      raisedIf: { moreThan: failuresBorne },
      windowSeconds,
    });
  }

  /**
   * Returns the filter of a metric that counts the attempts of a schedule. An attempt has succeeded if it was answered 2xx. Cloud Run's
   * own count of answers lacks those that it refuses itself, for a missing right or a missing instance.
   * https://cloud.google.com/scheduler/docs/logging
   */
  #attempts({ project, name, location }: ScheduledRuns, outcome: "succeeded" | "failed"): string {
    const metric = new ProviderResource(this, outcome === "failed" ? "Failures" : "Successes", "google_logging_metric", {
      project,
      name: `leasehold_${outcome}_${name}_${this.node.addr.slice(-8)}`,
      description: `Attempts of the schedule ${name} in ${location} that have ${outcome}`,
      filter:
        `resource.type = "cloud_scheduler_job" AND resource.labels.job_id = "${name}" AND resource.labels.location = "${location}" ` +
        'AND jsonPayload."@type" = "type.googleapis.com/google.cloud.scheduler.logging.AttemptFinished" ' +
        `AND severity ${outcome === "failed" ? ">=" : "<"} ERROR`,
      metric_descriptor: { metric_kind: "DELTA", value_type: "INT64" },
    });
    return `metric.type = "logging.googleapis.com/user/${metric.attribute("name")}" AND resource.type = "cloud_scheduler_job"`;
  }
}

function checkHours(hours: number): void {
  if (Number.isInteger(hours) && hours >= 1 && hours * 3_600 <= LONGEST_WINDOW_SECONDS) return;
  throw new Error(
    `notRunForHours is ${hours}; it must be a whole number from 1 to 25, which is as far as a policy looks back. For a longer schedule leave it out.`,
  );
}
