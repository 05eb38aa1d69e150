import { environmentBlocks, retriesInPeriod } from "@leasehold/infra-terrain";
import { Construct } from "constructs";
import { candidateEnvironment } from "./candidate-environment.ts";
import type { ServiceAccount } from "./google/iam.ts";
import { CloudRunJob, CloudRunJobIamMember } from "./google/run.ts";
import { CloudSchedulerJob } from "./google/scheduler.ts";
import { checkAccountId, checkServiceName, ownAccount } from "./own-account.ts";
import { checkSchedule, wholeSeconds, type ScheduledProps } from "./scheduled-props.ts";
import type { ScheduledRuns } from "./scheduled-runs.ts";

export interface CandidateJobProps extends ScheduledProps {
  /**
   * The longest time for the work of an occurrence, at most 23 hours. The program finds it in `LEADER_TIMEOUT_MS`. A task gets a
   * minute more, in which it waits for the claim of a task that died.
   * @default 600_000
   */
  readonly timeoutMs?: number;
}

const TIMEOUTS_MS = [15_000, 23 * 3_600_000] as const;
/**
 * The time in which a task waits until a claim of 15 s expires, records the work as done, and ends. Claims are renewed in the
 * background.
 */
const WAIT_SECONDS = 60;
/** The number of retries of one task. Each begins at once, in a new container. */
const TRIES_AGAIN = 3;

/**
 * A job on Cloud Run that does each occurrence of a schedule once, with `oncePerOccurrence` of @leasehold/core. A job of Cloud
 * Scheduler starts it. Make one in each of two regions, for one schedule. The first that begins does the occurrence. The other
 * waits, and does it if the first fails.
 *
 * A task that dies is started again. It waits until the dead one's claim expires, and does the occurrence. It does not learn when
 * it was due: its program takes the last tick by `LEADER_SCHEDULE` and `LEADER_TIME_ZONE`. So all tries end before the next tick.
 * There are three retries, or fewer if the ticks are close together.
 */
export class CandidateJob extends Construct {
  readonly serviceAccount: ServiceAccount;
  readonly job: CloudRunJob;
  readonly scheduler: CloudSchedulerJob;
  /** The metrics for alerts, which Cloud Run counts of the job's executions. */
  readonly runs: ScheduledRuns;

  /** @throws {Error} for a schedule, timeout, name or account that Google would refuse, and for ticks too close for one retry. */
  constructor(scope: Construct, id: string, props: CandidateJobProps) {
    super(scope, id);
    const {
      leases,
      elections,
      name,
      accountId = name,
      location,
      image,
      schedule,
      timeoutMs = 600_000,
      timeZone = "Etc/UTC",
    } = props;
    const { project } = leases;
    checkServiceName(name);
    checkAccountId(accountId, 22);
    checkSchedule(schedule);
    const timeout = wholeSeconds(timeoutMs, TIMEOUTS_MS, "a task of Cloud Run has a day at most") + WAIT_SECONDS;
    const retries = retriesInPeriod({ schedule, timeoutMs, trySeconds: timeout, retries: TRIES_AGAIN });

    this.serviceAccount = ownAccount(this, "ServiceAccount", { project, accountId, displayName: `Job ${name}` });
    const grant = leases.grantCandidate(this.serviceAccount, ...elections);
    this.job = new CloudRunJob(
      this,
      "Job",
      {
        project,
        name,
        location,
        deletion_protection: false,
        template: {
          task_count: 1,
          template: {
            service_account: this.serviceAccount.email,
            timeout: `${timeout}s`,
            max_retries: retries,
            containers: [
              {
                image,
                command: props.command,
                env: environmentBlocks(
                  candidateEnvironment(
                    leases,
                    elections,
                    { LEADER_SCHEDULE: schedule, LEADER_TIME_ZONE: timeZone, LEADER_TIMEOUT_MS: String(timeoutMs) },
                    props.environment,
                  ),
                ),
              },
            ],
          },
        },
      },
      { dependsOn: [grant, leases.database] },
    );
    const invoker = ownAccount(this, "Invoker", {
      project,
      accountId: `${accountId}-invoker`,
      displayName: `Starts the job ${name} on its schedule`,
    });
    const mayRun = new CloudRunJobIamMember(this, "MayRun", {
      project,
      location,
      name: this.job.name,
      role: "roles/run.invoker",
      member: invoker.member,
    });
    this.scheduler = new CloudSchedulerJob(
      this,
      "Scheduler",
      {
        project,
        region: location,
        name,
        schedule,
        time_zone: timeZone,
        attempt_deadline: "60s",
        // These retries are for the request that starts an execution. It fails or succeeds at once. A superfluous execution finds
        // the occurrence done.
        retry_config: { retry_count: 5, min_backoff_duration: "5s", max_backoff_duration: "60s" },
        http_target: {
          // https://cloud.google.com/run/docs/execute/jobs-on-schedule
          uri: `https://run.googleapis.com/v2/projects/${project}/locations/${location}/jobs/${this.job.name}:run`,
          http_method: "POST",
          oauth_token: { service_account_email: invoker.email },
        },
      },
      { dependsOn: [mayRun] },
    );
    const executions =
      'metric.type = "run.googleapis.com/job/completed_execution_count" AND resource.type = "cloud_run_job" ' +
      `AND resource.labels.job_name = "${name}" AND resource.labels.location = "${location}" AND metric.labels.result`;
    this.runs = {
      project,
      name,
      location,
      succeeded: `${executions} = "succeeded"`,
      failed: `${executions} = "failed"`,
      // An execution counts as failed only after its last try.
      failuresBorne: 0,
      windowSeconds: 3_600,
    };
  }
}
