import { Construct } from "constructs";
import { countAlert, LONGEST_WINDOW_SECONDS, type AlertProps } from "./alerts.ts";
import type { AlertPolicy } from "./google/monitoring.ts";
import type { ScheduledRuns } from "./scheduled-runs.ts";

export interface RunAlertsProps extends AlertProps {
  /** A `LeaderScheduledFunction`, or a `CandidateJob`. */
  readonly of: { readonly runs: ScheduledRuns };
  /**
   * The longest time between two runs without an alert, in whole hours: 1 to 25, which is how far a policy looks back. Use a
   * schedule's period and some time more.
   */
  readonly notRunForHours: number;
}

/**
 * Alerts for a schedule. They go off if nothing has run for so many hours, or if all tries of an occurrence have failed. Cloud
 * Scheduler has no dead-letter queue, so only these alerts show such an occurrence.
 */
export class RunAlerts extends Construct {
  readonly notRun: AlertPolicy;
  readonly failed: AlertPolicy;

  /** @throws {Error} for hours that no policy can look back for. */
  constructor(scope: Construct, id: string, props: RunAlertsProps) {
    super(scope, id);
    const { notRunForHours: hours, of } = props;
    const { project, name, location, succeeded, failed, failuresBorne, windowSeconds } = of.runs;
    if (!Number.isInteger(hours) || hours < 1 || hours * 3_600 > LONGEST_WINDOW_SECONDS) {
      throw new Error(
        `notRunForHours is ${hours}; it must be a whole number from 1 to 25, which is as far as a policy looks back.`,
      );
    }
    const where = `${name} in ${location}`;
    this.notRun = countAlert(this, "NotRun", props, {
      project,
      title: `${where}: not run for ${hours} hours`,
      text: `No delivery of \`${name}\` has succeeded for ${hours} hours. Look at the job of Cloud Scheduler: is it paused, and what was it answered?`,
      filter: succeeded,
      raisedIf: { fewerThan: 1 },
      windowSeconds: hours * 3_600,
    });
    this.failed = countAlert(this, "Failed", props, {
      project,
      title: `${where}: an occurrence has failed`,
      text: `\`${name}\` has failed as often as it is tried: the occurrence is lost, unless it is caught up on. Its logs say why.`,
      filter: failed,
      raisedIf: { moreThan: failuresBorne },
      windowSeconds,
    });
  }
}
