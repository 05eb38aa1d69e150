import { Alarm, ComparisonOperator, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import type { HealthCheck } from "aws-cdk-lib/aws-ecs";
import { Duration } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import { hasLeaderMetric } from "./election-metrics.ts";

/** The port on which a candidate answers whether it campaigns. */
export const HEALTH_PORT = 8080;
/** ECS replaces a task that never becomes healthy after a minute and a half. The circuit breaker counts these replacements. */
export const HEALTH_CHECK: HealthCheck = {
  command: [
    "CMD",
    "node",
    "-e",
    `fetch("http://127.0.0.1:${HEALTH_PORT}/health").then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`,
  ],
  interval: Duration.seconds(10),
  timeout: Duration.seconds(5),
  retries: 3,
  startPeriod: Duration.seconds(60),
};

/** More than twice the time for which a standby waits for a leader that died, at the default durations. */
const ALARM_MINUTES = 3;

/** Goes off if candidates of the election run in this region, and no candidate leads in any region. */
export function deploymentAlarm(scope: Construct, election: string): Alarm {
  return new Alarm(scope, "NobodyLeads", {
    alarmDescription: `Candidates of the election '${election}' run, and have known no leader for ${ALARM_MINUTES} minutes.`,
    metric: hasLeaderMetric(election),
    comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
    threshold: 1,
    evaluationPeriods: ALARM_MINUTES,
    // Before the first deployment no candidate reports anything. ECS ignores an alarm that is on when a deployment begins.
    treatMissingData: TreatMissingData.NOT_BREACHING,
  });
}
