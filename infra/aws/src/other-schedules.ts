import { ConfigurationError } from "@leasehold/core";
import type { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Annotations, Stack, Stage, Token } from "aws-cdk-lib/core";
import type { IConstruct } from "constructs";
import type { ILeaseTable } from "./lease-table-base.ts";

/** A function that a schedule in the default group of EventBridge Scheduler invokes. */
interface Scheduled extends IConstruct {
  readonly election: string;
  readonly scheduleName: string;
}

/**
 * Checks that no other function has a schedule of this name in the same account and region. CreateSchedule would fail.
 * @throws {ConfigurationError} if another one has it.
 */
export function checkScheduleName(scheduled: Scheduled): void {
  const { scheduleName } = scheduled;
  if (Token.isUnresolved(scheduleName)) return;
  const other = othersOf(scheduled).find((each) => each.scheduleName === scheduleName && sharesRegion(scheduled, each));
  if (!other) return;
  throw new ConfigurationError(
    `${scheduled.node.path} and ${other.node.path} would both make the schedule ${JSON.stringify(scheduleName)}, and a region has one schedule of a name. Set scheduleName on one of them, to the same name in every region: oncePerTick tells schedules apart by it.`,
  );
}

/**
 * Warns of `rate(...)` in two regions. Each rate counts from when its schedule was made, so the two regions deliver different
 * times. `oncePerTick` would do both.
 */
export function warnOfRate(scheduled: Scheduled, schedule: ScheduleExpression, table: ILeaseTable): void {
  if (!schedule.expressionString.startsWith("rate(")) return;
  const { region } = Stack.of(scheduled);
  const other = othersOf(scheduled).find((each) => each.election === scheduled.election && Stack.of(each).region !== region);
  if (region === table.region && !other) return;
  const elsewhere = other ? Stack.of(other).region : table.region;
  Annotations.of(scheduled).addWarningV2(
    "@leasehold/infra-aws:rateInTwoRegions",
    `The function of '${scheduled.election}' runs at ${schedule.expressionString} in ${region}, and there is ${elsewhere}, too: a rate counts from when each region's schedule was made, so that the gate oncePerTick takes what two regions deliver for different occurrences, and does both. Use ScheduleExpression.cron, whose times are the same everywhere.`,
  );
}

/** Returns the other functions of the stage. */
function othersOf(scheduled: Scheduled): Scheduled[] {
  return (Stage.of(scheduled)?.node.findAll() ?? []).filter(
    (other): other is Scheduled => other !== scheduled && other.constructor === scheduled.constructor,
  );
}

/** Reports whether both constructs are certain to be in the same account and region. */
function sharesRegion(one: IConstruct, other: IConstruct): boolean {
  const [here, there] = [Stack.of(one), Stack.of(other)];
  if (here === there) return true;
  return !Token.isUnresolved(here.region) && here.region === there.region && here.account === there.account;
}
