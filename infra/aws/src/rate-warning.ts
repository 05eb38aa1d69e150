import type { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Annotations, Stack, Stage } from "aws-cdk-lib/core";
import type { IConstruct } from "constructs";
import type { ILeaseTable } from "./lease-table-base.ts";

/** A function that is invoked on a schedule. */
interface Scheduled extends IConstruct {
  readonly election: string;
}

/**
 * Warns of `rate(...)` in two regions. Each rate counts from when its schedule was made, so the two regions deliver different
 * times. `oncePerTick` would do both.
 */
export function warnOfRate(scheduled: Scheduled, schedule: ScheduleExpression, table: ILeaseTable): void {
  if (!schedule.expressionString.startsWith("rate(")) return;
  const { region } = Stack.of(scheduled);
  const others = (Stage.of(scheduled)?.node.findAll() ?? []).filter(
    (other): other is Scheduled =>
      other !== scheduled &&
      other.constructor === scheduled.constructor &&
      (other as Scheduled).election === scheduled.election &&
      Stack.of(other).region !== region,
  );
  if (region === table.region && others.length === 0) return;
  const elsewhere = others[0] ? Stack.of(others[0]).region : table.region;
  Annotations.of(scheduled).addWarningV2(
    "@leasehold/infra-aws:rateInTwoRegions",
    `The function of '${scheduled.election}' runs at ${schedule.expressionString} in ${region}, and there is ${elsewhere}, too: a rate counts from when each region's schedule was made, so that the gate oncePerTick takes what two regions deliver for different occurrences, and does both. Use ScheduleExpression.cron, whose times are the same everywhere.`,
  );
}
