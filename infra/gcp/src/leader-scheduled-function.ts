import { Construct } from "constructs";
import { candidateEnvironment } from "./candidate-props.ts";
import { checkAccountId, checkServiceName, ownAccount, type ServiceAccount } from "./own-account.ts";
import {
  allTriesSeconds,
  checkSchedule,
  RETRIES,
  retriesPastLease,
  wholeSeconds,
  type ScheduledProps,
} from "./scheduled-props.ts";
import { ProviderResource } from "../../terraform.ts";
import type { ScheduledRuns } from "./run-alerts.ts";

export interface LeaderScheduledFunctionProps extends ScheduledProps {
  /**
   * The longest time of a delivery. `onlyAsLeaderOnHttp` reads it too. At most 30 minutes, because Cloud Scheduler waits no
   * longer.
   * @default 300_000
   */
  readonly timeoutMs?: number;
}

const TIMEOUTS_MS = [15_000, 1_800_000] as const;

/**
 * A function on Cloud Run that uses `onlyAsLeaderOnHttp` of @leasehold/functions/google-cloud. A job of Cloud Scheduler calls it
 * as a service account of its own. The function accepts calls only from inside the project, and only from accounts with the right
 * to invoke it. Make one in each of two regions, for one election.
 *
 * A delivery that dies is repeated until its lease is over, and then does the occurrence. After six failures the occurrence is
 * lost, because Cloud Scheduler has no dead-letter queue. `RunAlerts` then alerts.
 */
export class LeaderScheduledFunction extends Construct {
  readonly serviceAccount: ServiceAccount;
  readonly service: ProviderResource;
  readonly job: ProviderResource;
  /** The schedule, for alerts. */
  readonly runs: ScheduledRuns;

  /** @throws {Error} for a schedule, timeout, name or account that Google would refuse. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { leases, elections, name, accountId = name, location, image, schedule, timeoutMs = 300_000 } = props;
    const { project } = leases;
    checkServiceName(name);
    checkAccountId(accountId, 22);
    checkSchedule(schedule);
    const timeout = wholeSeconds(
      timeoutMs,
      TIMEOUTS_MS,
      "Cloud Scheduler waits no longer, and would deliver again while the first delivery still works",
    );

    this.serviceAccount = ownAccount(this, "ServiceAccount", { project, accountId, displayName: `Function ${name}` });
    const grant = leases.grantCandidate(this.serviceAccount, ...elections);
    this.service = new ProviderResource(
      this,
      "Function",
      "google_cloud_run_v2_service",
      {
        project,
        name,
        location,
        deletion_protection: false,
        // Google counts calls of Cloud Scheduler in the same project as internal.
        ingress: "INGRESS_TRAFFIC_INTERNAL_ONLY",
        template: {
          service_account: this.serviceAccount.email,
          timeout: `${timeout}s`,
          scaling: { min_instance_count: 0, max_instance_count: 5 },
          containers: [
            {
              image,
              command: props.command,
              env: candidateEnvironment(props, { LEADER_SCHEDULE: schedule, CLOUD_RUN_TIMEOUT_SECONDS: String(timeout) }),
            },
          ],
        },
      },
      { dependsOn: [grant, leases.database] },
    );
    const invoker = ownAccount(this, "Invoker", {
      project,
      accountId: `${accountId}-invoker`,
      displayName: `Calls the function ${name} on its schedule`,
    });
    const mayInvoke = new ProviderResource(this, "MayInvoke", "google_cloud_run_v2_service_iam_member", {
      project,
      location,
      name: this.service.attribute("name"),
      role: "roles/run.invoker",
      member: invoker.member,
    });
    this.job = new ProviderResource(
      this,
      "Job",
      "google_cloud_scheduler_job",
      {
        project,
        region: location,
        name,
        schedule,
        time_zone: props.timeZone ?? "Etc/UTC",
        attempt_deadline: `${timeout}s`,
        retry_config: retriesPastLease(timeoutMs),
        http_target: {
          uri: this.service.attribute("uri"),
          http_method: "POST",
          oidc_token: { service_account_email: invoker.email, audience: this.service.attribute("uri") },
        },
      },
      { dependsOn: [mayInvoke] },
    );
    this.runs = { project, name, location, failuresBorne: RETRIES, windowSeconds: allTriesSeconds(timeoutMs) };
  }
}
