import { checkElections } from "@leasehold/infra-terrain";
import { Construct } from "constructs";
import { ERROR, logAlert, metricBelow, WARNING, type AlertProps } from "./alerts.ts";
import type { LogAlert, MetricAlert } from "./azurerm/monitoring.ts";
import type { CandidateApp } from "./candidate-app.ts";
import type { LeaseContainer } from "./lease-container.ts";
import { linesQuery } from "./log-lines.ts";

export interface ElectionAlertsProps extends AlertProps {
  /** The candidates, whose leader prints `{"leasehold":"leader","election":...,"term":...}` once a minute. */
  readonly app: CandidateApp;
  readonly election: string;
  /** Where the leases are. */
  readonly leases: LeaseContainer;
  /**
   * How many terms may begin within a quarter of an hour.
   * @default 5
   */
  readonly maxTransitions?: number;
}

/**
 * Alerts for an election with standing candidates: nobody leads, or nobody says so; the leadership moves too often; the
 * account of the leases answers less than 99 % of the requests. Logs arrive some minutes late, and so do the alerts.
 */
export class ElectionAlerts extends Construct {
  readonly noLeader: LogAlert;
  readonly flapping: LogAlert;
  readonly unavailable: MetricAlert;

  /** @throws {Error} for an election that nobody could compete for, and a number of transitions that is none. */
  constructor(scope: Construct, id: string, props: ElectionAlertsProps) {
    super(scope, id);
    const { app, election, leases, maxTransitions = 5 } = props;
    checkElections("ElectionAlerts", [election]);
    if (!(maxTransitions >= 1)) {
      throw new Error(`maxTransitions is ${maxTransitions}; a single start is no flapping, so it must be at least 1.`);
    }
    const { workspaceId } = app;
    const lines = linesQuery("leader", election);
    this.noLeader = logAlert(this, "NoLeader", props, {
      what: "no-leader",
      description: `Nobody has said for 15 minutes that it leads the election '${election}'.`,
      workspaceId,
      query: lines,
      alertIf: { fewerThan: 1 },
      window: "PT15M",
      every: "PT5M",
      severity: ERROR,
    });
    this.flapping = logAlert(this, "Flapping", props, {
      what: "flapping",
      description: `More than ${maxTransitions} terms of the election '${election}' within 15 minutes.`,
      workspaceId,
      query: `${lines}\n| summarize by tolong(line.term)`,
      alertIf: { moreThan: maxTransitions },
      window: "PT15M",
      every: "PT15M",
      severity: WARNING,
    });
    this.unavailable = metricBelow(this, "Unavailable", props, {
      what: "store-unavailable",
      description: "The storage account of the leases answers less than 99 % of the requests: leaders may have to step down.",
      metric: leases.metricAvailability(),
      threshold: 99,
    });
  }
}
