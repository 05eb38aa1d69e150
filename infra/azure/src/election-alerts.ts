import { Construct } from "constructs";
import { ERROR, logAlert, WARNING, type AlertProps } from "./alerts.ts";
import type { CandidateApp } from "./candidate-app.ts";
import { linesQuery } from "./log-lines.ts";
import { checkElections, checkTransitions, type ProviderResource } from "../../terraform.ts";

export interface ElectionAlertsProps extends AlertProps {
  /** The candidates. Each writes the lines of `publishMetrics` of `@leasehold/core/diagnostics`. */
  readonly app: CandidateApp;
  readonly election: string;
  /**
   * The number of terms that may begin within 15 minutes.
   * @default 5
   */
  readonly maxTransitions?: number;
}

/**
 * Alerts for an election whose candidates run all the time. They go off if no candidate knows a leader of any region or none
 * reports, or if the leadership moves too often. Logs arrive some minutes late, and so do the alerts.
 */
export class ElectionAlerts extends Construct {
  readonly noLeader: ProviderResource;
  readonly flapping: ProviderResource;

  /** @throws {Error} for an invalid election, or a number of transitions below 1. */
  constructor(scope: Construct, id: string, props: ElectionAlertsProps) {
    super(scope, id);
    const { app, election, maxTransitions = 5 } = props;
    checkElections("ElectionAlerts", [election]);
    checkTransitions(maxTransitions);
    const { workspaceId } = app;
    this.noLeader = logAlert(this, "NoLeader", props, {
      what: "no-leader",
      description: `No candidate has reported for 15 minutes that there is a leader of the election '${election}'.`,
      workspaceId,
      query: linesQuery("HasLeader", election),
      alertIf: { fewerThan: 1 },
      window: "PT15M",
      every: "PT5M",
      severity: ERROR,
    });
    this.flapping = logAlert(this, "Flapping", props, {
      what: "flapping",
      description: `More than ${maxTransitions} terms of the election '${election}' within 15 minutes.`,
      workspaceId,
      query: linesQuery("Transitions", election),
      alertIf: { moreThan: maxTransitions },
      window: "PT15M",
      every: "PT15M",
      severity: WARNING,
    });
  }
}
