import { retriesInPeriod } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import type { ManagedIdentity } from "./azurerm/access.ts";
import { ContainerAppJob } from "./azurerm/container-apps.ts";
import { candidateParts } from "./candidate-parts.ts";
import type { CandidateProps } from "./candidate-props.ts";
import { linesQuery } from "./log-lines.ts";
import type { ScheduledRuns } from "./scheduled-runs.ts";

export interface CandidateJobProps extends CandidateProps {
  /** The schedule in UTC: five fields, as in `0 3 * * *`. The program finds it in `LEADER_SCHEDULE`. */
  readonly schedule: string;
  /**
   * The longest time for the work of an occurrence. The program finds it in `LEADER_TIMEOUT_MS`. A replica gets 75 s more, in
   * which it waits for the claim of a replica that died.
   * @default 600_000
   */
  readonly timeoutMs?: number;
  /**
   * The number of times that a failed execution begins again, before the next tick.
   * @default - 3, or as many as end before the next tick
   */
  readonly retries?: number;
}

/** The longest lease of a blob. A replica may have to wait for it. */
const LONGEST_LEASE_SECONDS = 60;
/** The time after that lease in which the replica polls, records the work as done, and ends. */
const MARGIN_SECONDS = 15;
const MAX_TIMEOUT_MS = 86_400_000;
const DEFAULT_RETRIES = 3;

/**
 * A job of Container Apps that does each occurrence of a schedule once, with `oncePerOccurrence` of @leasehold/core. Make one in
 * each of two regions, for one election. The first that begins does the occurrence. The other waits, and does it if the first
 * fails.
 *
 * A replica that dies is started again. It waits until the dead one's claim expires, and does the occurrence. It does not learn
 * when it was due, so it takes the last tick of its schedule. So all tries have to end before the next tick.
 */
export class CandidateJob extends Construct {
  readonly identity: ManagedIdentity;
  readonly job: ContainerAppJob;
  /**
   * The queries for alerts, over the output of the job's programs. If a program dies without output, no occurrence counts as
   * done, and the alert for that goes off later.
   */
  readonly runs: ScheduledRuns;

  /** @throws {Error} for an invalid schedule, name, election or number, and for ticks too close for the retries. */
  constructor(scope: Construct, id: string, props: CandidateJobProps) {
    super(scope, id);
    const { resourceGroup, name, elections, schedule, timeoutMs = 600_000 } = props;
    checkSchedule(schedule);
    const replicaTimeout = replicaSeconds(timeoutMs);
    const retries = retriesOf(props, timeoutMs, replicaTimeout);
    const { identity, environment, args, container, rights } = candidateParts(this, props, {
      LEADER_SCHEDULE: schedule,
      LEADER_TIMEOUT_MS: String(timeoutMs),
    });
    this.identity = identity;
    const [election = ""] = elections;
    this.runs = {
      workspaceId: environment.workspaceId,
      doneQuery: linesQuery("done", election),
      failedQuery: linesQuery("failed", election),
    };
    this.job = new ContainerAppJob(
      this,
      "Job",
      {
        ...args,
        name,
        resource_group_name: resourceGroup.name,
        location: resourceGroup.location,
        replica_timeout_in_seconds: replicaTimeout,
        replica_retry_limit: retries,
        schedule_trigger_config: { cron_expression: schedule, parallelism: 1, replica_completion_count: 1 },
        template: { container: [container] },
      },
      { dependsOn: [...rights] },
    );
  }
}

function checkSchedule(schedule: string): void {
  if (Token.isUnresolved(schedule) || /^\S+( \S+){4}$/.test(schedule)) return;
  throw new Error(`schedule is ${JSON.stringify(schedule)}; it must have five fields, as in "0 3 * * *".`);
}

/** @throws {Error} for retries of which the last would do the next tick. */
function retriesOf(props: CandidateJobProps, timeoutMs: number, trySeconds: number): number {
  const { schedule, retries = DEFAULT_RETRIES } = props;
  checkRetries(retries);
  if (Token.isUnresolved(retries)) return retries;
  const fitting = retriesInPeriod({ schedule, timeoutMs, trySeconds, retries });
  if (fitting === retries || props.retries === undefined) return fitting;
  throw new Error(
    `retries is ${retries}, and only ${fitting} of ${trySeconds} s end before the next tick of ${JSON.stringify(schedule)}: a later one would do that tick, and the one that failed would be lost. Lower retries or timeoutMs.`,
  );
}

function checkRetries(retries: number): void {
  if (Token.isUnresolved(retries) || (Number.isInteger(retries) && retries >= 1 && retries <= 10)) return;
  throw new Error(
    `retries is ${retries}; it must be a whole number from 1 to 10: without one, an occurrence whose replica dies is lost.`,
  );
}

function replicaSeconds(timeoutMs: number): number {
  if (Token.isUnresolved(timeoutMs)) throw new Error("timeoutMs is not known when this is synthesized; it must be.");
  if (timeoutMs >= 1_000 && timeoutMs <= MAX_TIMEOUT_MS) {
    return Math.ceil(timeoutMs / 1_000) + LONGEST_LEASE_SECONDS + MARGIN_SECONDS;
  }
  throw new Error(`timeoutMs is ${timeoutMs}; it must be from 1_000 to ${MAX_TIMEOUT_MS}, in milliseconds.`);
}
