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
   * How long the work of an occurrence may take, 23 hours at most; its program finds it in `LEADER_TIMEOUT_MS`. A task gets a
   * minute more, in which it waits for the claim of one that has died.
   * @default 600_000
   */
  readonly timeoutMs?: number;
}

const TIMEOUTS_MS = [15_000, 23 * 3_600_000] as const;
/** For waiting until a claim of 15 s, which is renewed in the background, has run out; for telling that the work is done, and for ending. */
const WAIT_SECONDS = 60;
/** Of one task: it begins again at once, in a new container. */
const TRIES_AGAIN = 3;

/**
 * A job on Cloud Run that does each occurrence of a schedule once, with `oncePerOccurrence` of @leasehold/core, and a job of
 * Cloud Scheduler that starts it. Make one in each of two regions, for one schedule: whichever begins first does the occurrence,
 * the other one waits, and does it where the first one fails.
 *
 * A task that dies is started again, waits for the dead one's claim to run out, and does the occurrence. It is not told when it
 * was due: its program takes the last tick by `LEADER_SCHEDULE` and `LEADER_TIME_ZONE`. So all tries end before the next tick:
 * there are three retries, or fewer where the schedule is close.
 */
export class CandidateJob extends Construct {
  readonly serviceAccount: ServiceAccount;
  readonly job: CloudRunJob;
  readonly scheduler: CloudSchedulerJob;
  /** For alerts: what Cloud Run counts of its executions. */
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
        // Of the request that starts an execution, which fails or succeeds at once. An execution too many finds the occurrence done.
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
      // An execution has failed when its last try has.
      failuresBorne: 0,
      windowSeconds: 3_600,
    };
  }
}
