import { ConfigurationError } from "@leasehold/core";
import { Stack, Stage, Token } from "aws-cdk-lib/core";
import type { IConstruct } from "constructs";

/** A construct that makes a schedule of EventBridge Scheduler in the default group. */
interface Scheduled extends IConstruct {
  readonly scheduleName: string;
}

/**
 * Checks that no other function has a schedule of this name in the same account and region. CreateSchedule would fail.
 * @throws {ConfigurationError} if another one has it.
 */
export function checkScheduleName(scheduled: Scheduled): void {
  const { scheduleName } = scheduled;
  if (Token.isUnresolved(scheduleName)) return;
  const other = (Stage.of(scheduled)?.node.findAll() ?? []).find(
    (each) =>
      each !== scheduled && (each as Partial<Scheduled>).scheduleName === scheduleName && sharesRegion(Stack.of(scheduled), each),
  );
  if (!other) return;
  throw new ConfigurationError(
    `${scheduled.node.path} and ${other.node.path} would both make the schedule ${JSON.stringify(scheduleName)}, and a region has one schedule of a name. Set scheduleName on one of them, to the same name in every region: oncePerTick tells schedules apart by it.`,
  );
}

/** True if both constructs are certain to be in the same account and region. */
function sharesRegion(stack: Stack, other: IConstruct): boolean {
  const { region, account } = Stack.of(other);
  if (Stack.of(other) === stack) return true;
  return !Token.isUnresolved(region) && region === stack.region && account === stack.account;
}
