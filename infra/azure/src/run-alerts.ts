import { Construct } from "constructs";
import { ERROR, logAlert, type AlertProps } from "./alerts.ts";
import type { ProviderResource } from "../../terraform.ts";

/** The logs of a schedule's occurrences. */
export interface ScheduledRuns {
  /** The workspace of Log Analytics. */
  readonly workspaceId: string;
  /** A Kusto query with a row for each occurrence that was done. */
  readonly doneQuery: string;
  /** A Kusto query with a row for each run that failed. */
  readonly failedQuery: string;
}

export interface RunAlertsProps extends AlertProps {
  /** A `LeaderScheduledFunction`. */
  readonly of: { readonly runs: ScheduledRuns };
  /**
   * The longest time between two runs without an alert, in whole hours: 1 to 48. Use a schedule's period and one hour more. A rule
   * looks back no further: for a schedule of more than a day see site/pages/infrastructure.md.
   * @default - no such alert
   */
  readonly notRunForHours?: number;
}

/** The windows of at least an hour that a rule can query. */
const WINDOWS_HOURS = [1, 2, 3, 4, 5, 6, 24, 48] as const;

/**
 * Alerts for a schedule. They go off if nothing has run for so many hours, or if a run has failed. A timer of Functions has no
 * dead-letter queue. If all tries of an occurrence fail, only these alerts show it.
 */
export class RunAlerts extends Construct {
  readonly notRun: ProviderResource | undefined;
  readonly failed: ProviderResource;

  /** @throws {Error} for hours that no rule can look back for. */
  constructor(scope: Construct, id: string, props: RunAlertsProps) {
    super(scope, id);
    const { notRunForHours: hours, of } = props;
    const { workspaceId, doneQuery, failedQuery } = of.runs;
    if (hours !== undefined) {
      const window = windowOf(hours);
      this.notRun = logAlert(this, "NotRun", props, {
        what: "not-run",
        description: `Nothing has been done for ${hours} hours.`,
        workspaceId,
        query: `${doneQuery}\n| where TimeGenerated > ago(${hours}h)`,
        alertIf: { fewerThan: 1 },
        window: window < 24 ? `PT${window}H` : `P${window / 24}D`,
        every: "PT1H",
        severity: ERROR,
      });
    }
    this.failed = logAlert(this, "Failed", props, {
      what: "failed",
      description: "A run has failed. It may be tried again.",
      workspaceId,
      query: failedQuery,
      alertIf: { moreThan: 0 },
      window: "PT15M",
      every: "PT15M",
      severity: ERROR,
    });
  }
}

/** Returns the least window that covers these hours. @throws {Error} for hours that no rule can look back for. */
function windowOf(hours: number): number {
  const window = Number.isInteger(hours) && hours >= 1 ? WINDOWS_HOURS.find((each) => each >= hours) : undefined;
  if (window !== undefined) return window;
  throw new Error(
    `notRunForHours is ${hours}; it must be a whole number from 1 to 48, which is as far as a rule looks back. For a longer schedule leave it out.`,
  );
}
