import { Token } from "cdktn";
import { Construct } from "constructs";
import { countAlert, type AlertProps } from "./alerts.ts";
import type { CandidateWorker } from "./candidate-worker.ts";
import { checkElections, checkTransitions, ProviderResource } from "../../terraform.ts";

export interface ElectionAlertsProps extends AlertProps {
  /** The candidates. Each writes the lines of `publishMetrics` of `@leasehold/core/diagnostics`. */
  readonly worker: CandidateWorker;
  readonly election: string;
  /**
   * The number of terms that may begin within 15 minutes.
   * @default 5
   */
  readonly maxTransitions?: number;
}

const WINDOW_SECONDS = 900;

/**
 * Alerts for an election whose candidates run all the time. They go off if no candidate knows a leader of any region or none
 * reports, or if the leadership moves too often.
 */
export class ElectionAlerts extends Construct {
  readonly noLeader: ProviderResource;
  readonly flapping: ProviderResource;

  /** @throws {Error} for an invalid election, or a number of transitions below 1. */
  constructor(scope: Construct, id: string, props: ElectionAlertsProps) {
    super(scope, id);
    const { worker, election, maxTransitions = 5 } = props;
    const { project } = worker;
    checkElections("ElectionAlerts", [election]);
    const shown = literal(election);
    checkTransitions(maxTransitions);
    this.noLeader = countAlert(this, "NoLeader", props, {
      project,
      title: `${shown}: nobody leads`,
      text: `No candidate has reported for 15 minutes that there is a leader of the election \`${shown}\`. Are there instances of \`${worker.name}\`, and what do they log?`,
      filter: this.#counting("HasLeader", worker, election),
      raisedIf: { fewerThan: 1 },
      windowSeconds: WINDOW_SECONDS,
    });
    this.flapping = countAlert(this, "Flapping", props, {
      project,
      title: `${shown}: the leadership moves too often`,
      text: `More than ${maxTransitions} terms of the election \`${shown}\` have begun within 15 minutes. Do its leaders end, or do their renewals come too late?`,
      filter: this.#counting("Transitions", worker, election),
      raisedIf: { moreThan: maxTransitions },
      windowSeconds: WINDOW_SECONDS,
    });
  }

  /** Returns the filter of a metric that counts the candidates' lines about one election in which this field is 1. */
  #counting(field: "HasLeader" | "Transitions", { project, name, location }: CandidateWorker, election: string): string {
    const metric = new ProviderResource(this, field, "google_logging_metric", {
      project,
      // An election's name may contain characters that a metric's name may not.
      name: `leasehold_${field}_${name}_${this.node.addr.slice(-8)}`,
      description: `Lines with "${field}":1 of the candidates ${name} in ${location}`,
      filter:
        `resource.type = "cloud_run_worker_pool" AND resource.labels.worker_pool_name = "${name}" AND resource.labels.location = "${location}" ` +
        `AND jsonPayload.${field} = 1 AND jsonPayload.Election = ${literal(JSON.stringify(election))}`,
      metric_descriptor: { metric_kind: "DELTA", value_type: "INT64" },
    });
    return `metric.type = "logging.googleapis.com/user/${metric.attribute("name")}" AND resource.type = "cloud_run_worker_pool"`;
  }
}

/** Escapes text so that Terraform reads no expression in it. Leaves an unresolved token unchanged. */
function literal(text: string): string {
  return Token.isUnresolved(text) ? text : text.replaceAll(/[$%]\{/g, (opening) => opening.charAt(0) + opening);
}
