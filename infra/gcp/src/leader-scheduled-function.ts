import { environmentBlocks } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import { candidateEnvironment } from "./candidate-environment.ts";
import { CloudRunService, CloudRunServiceIamMember, CloudSchedulerJob, ServiceAccount } from "./google.ts";
import type { LeaseDatabase } from "./lease-database.ts";
import { checkServiceName } from "./service-name.ts";

export interface LeaderScheduledFunctionProps {
  /** Where the leases are. */
  readonly leases: LeaseDatabase;
  /** The elections that gate its function. */
  readonly elections: readonly string[];
  /** 6 to 22 lower-case letters, digits and hyphens; also of its service accounts. */
  readonly name: string;
  /** A region of Cloud Run and of Cloud Scheduler. */
  readonly location: string;
  /** The function's image, as `gcloud functions` or `gcloud run deploy --function` build it. */
  readonly image: string;
  /** When: five fields, as in `0 3 * * *`. */
  readonly schedule: string;
  /** @default "Etc/UTC" */
  readonly timeZone?: string;
  /**
   * How long a delivery may take; `onlyAsLeaderOnHttp` reads it too. 30 minutes at most, which is as long as Cloud Scheduler waits.
   * @default 300_000
   */
  readonly timeoutMs?: number;
  /**
   * How often a delivery that failed is made again. One that does not lead has not failed.
   * @default 3
   */
  readonly retryCount?: number;
  /** @default - what `onlyAsLeaderOnHttp` and the store need alone */
  readonly environment?: Readonly<Record<string, string>>;
}

const MIN_TIMEOUT_MS = 15_000;
const MAX_TIMEOUT_MS = 1_800_000;
const MAX_RETRIES = 5;

/**
 * A function on Cloud Run that is gated by `onlyAsLeaderOnHttp` of @leasehold/functions/google-cloud, and a job of Cloud
 * Scheduler that calls it as a service account of its own. Nobody else can: it is reached from inside the project alone,
 * and by who may invoke it. Make one in each of two regions, for one election.
 */
export class LeaderScheduledFunction extends Construct {
  readonly serviceAccount: ServiceAccount;
  readonly service: CloudRunService;
  readonly job: CloudSchedulerJob;

  /** @throws {Error} for a schedule, timeout or name that Google would refuse. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { leases, elections, name, location, image, schedule, timeoutMs = 300_000, retryCount = 3 } = props;
    const { project } = leases;
    checkServiceName(name, 22);
    checkSchedule(schedule);
    checkRetries(retryCount);
    const timeout = seconds(timeoutMs);

    this.serviceAccount = new ServiceAccount(this, "ServiceAccount", {
      project,
      account_id: name,
      display_name: `Function ${name}`,
    });
    const grant = leases.grantCandidate(this.serviceAccount, ...elections);
    this.service = new CloudRunService(
      this,
      "Function",
      {
        project,
        name,
        location,
        deletion_protection: false,
        // Cloud Scheduler of the same project counts as inside.
        ingress: "INGRESS_TRAFFIC_INTERNAL_ONLY",
        template: {
          service_account: this.serviceAccount.email,
          timeout: `${timeout}s`,
          scaling: { min_instance_count: 0, max_instance_count: 5 },
          containers: [
            {
              image,
              env: environmentBlocks({
                CLOUD_RUN_TIMEOUT_SECONDS: String(timeout),
                ...candidateEnvironment(leases),
                ...props.environment,
              }),
            },
          ],
        },
      },
      { dependsOn: [grant, leases.database] },
    );
    const invoker = new ServiceAccount(this, "Invoker", {
      project,
      account_id: `${name}-invoker`,
      display_name: `Calls the function ${name} on its schedule`,
    });
    const mayInvoke = new CloudRunServiceIamMember(this, "MayInvoke", {
      project,
      location,
      name: this.service.name,
      role: "roles/run.invoker",
      member: invoker.member,
    });
    this.job = new CloudSchedulerJob(
      this,
      "Job",
      {
        project,
        region: location,
        name,
        schedule,
        time_zone: props.timeZone ?? "Etc/UTC",
        attempt_deadline: `${timeout}s`,
        retry_config: { retry_count: retryCount },
        http_target: {
          uri: this.service.uri,
          http_method: "POST",
          oidc_token: { service_account_email: invoker.email, audience: this.service.uri },
        },
      },
      { dependsOn: [mayInvoke] },
    );
  }
}

function checkSchedule(schedule: string): void {
  if (Token.isUnresolved(schedule) || /^\S+( \S+){4}$/.test(schedule)) return;
  throw new Error(`schedule is ${JSON.stringify(schedule)}; it must have five fields, minutes first, as in "0 3 * * *".`);
}

function checkRetries(retryCount: number): void {
  if (Token.isUnresolved(retryCount) || (Number.isInteger(retryCount) && retryCount >= 0 && retryCount <= MAX_RETRIES)) return;
  throw new Error(`retryCount is ${retryCount}; Cloud Scheduler takes 0 to ${MAX_RETRIES}.`);
}

function seconds(timeoutMs: number): number {
  if (Token.isUnresolved(timeoutMs)) throw new Error("timeoutMs is not known when this is synthesized; it must be.");
  if (Number.isInteger(timeoutMs / 1_000) && timeoutMs >= MIN_TIMEOUT_MS && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs / 1_000;
  throw new Error(
    `timeoutMs is ${timeoutMs}; it must be whole seconds, from ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}: Cloud Scheduler waits no longer, and ` +
      "would deliver again while the first delivery still works.",
  );
}
