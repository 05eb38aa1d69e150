import { ConfigurationError } from "@leasehold/core";
import {
  Alarm,
  ComparisonOperator,
  MathExpression,
  TreatMissingData,
  type AlarmProps,
  type IAlarmAction,
  type IMetric,
} from "aws-cdk-lib/aws-cloudwatch";
import { Duration } from "aws-cdk-lib/core";
import { Construct } from "constructs";
import type { LeaderScheduledFunction } from "./leader-scheduled-function.ts";

/** The settings of {@link ScheduledFunctionAlarms}. */
export interface ScheduledFunctionAlarmsProps {
  /** The function. */
  readonly scheduled: LeaderScheduledFunction;
  /**
   * The time without a run after which the alarm goes off, in whole hours up to 7 days. It has to be longer than the schedule's
   * longest pause. CloudWatch looks back no further: for a weekly or monthly schedule see the README.
   * @default - no such alarm
   */
  readonly notRunFor?: Duration;
  /**
   * True if the function runs in other regions as well. A skipped invocation then counts too, because another region may have run
   * instead, and a region has no metrics of another one. Each region has alarms of its own.
   * @default false
   */
  readonly inOtherRegions?: boolean;
  /**
   * The actions of each alarm when it goes off, and when it is over.
   * @default - none: the alarms only show their state
   */
  readonly actions?: IAlarmAction[];
}

/**
 * Alarms for a function that proceeds only as leader. They go off if it has not run for too long, if an invocation was given up,
 * or if Lambda delays invocations. The first one reads the metrics that `onlyAsLeader` writes to the log.
 */
export class ScheduledFunctionAlarms extends Construct {
  /** Goes off if nothing has run, or no invocation reports: the schedule does not fire, or each attempt fails. */
  readonly notRun: Alarm | undefined;
  /** Goes off if an invocation was given up: undelivered, or failed at every attempt. It stays on until the queue is empty. */
  readonly deadLetters: Alarm;
  /** Goes off if Lambda has delayed an invocation, because too many ran at once. */
  readonly throttles: Alarm;

  /** @throws {ConfigurationError} for a time that CloudWatch cannot look back on. */
  constructor(scope: Construct, id: string, props: ScheduledFunctionAlarmsProps) {
    super(scope, id);
    const { scheduled, notRunFor, inOtherRegions = false, actions = [] } = props;
    if (notRunFor) this.notRun = this.#notRun(scheduled, hoursOf(notRunFor), inOtherRegions);
    const alarm = (name: string, alarmDescription: string, metric: IMetric): Alarm =>
      new Alarm(this, name, { alarmDescription, metric, ...ANY });
    const period = Duration.minutes(5);
    this.deadLetters = alarm(
      "DeadLetters",
      `Invocations of the function of '${scheduled.election}' were given up: look into its dead-letter queue.`,
      scheduled.metricDeadLetters({ period }),
    );
    this.throttles = alarm(
      "Throttles",
      `Lambda puts off invocations of the function of '${scheduled.election}': the account's concurrency is used up.`,
      scheduled.function.metricThrottles({ period }),
    );
    for (const each of this.alarms) {
      each.addAlarmAction(...actions);
      each.addOkAction(...actions);
    }
  }

  /** All alarms. */
  get alarms(): readonly Alarm[] {
    return [...(this.notRun ? [this.notRun] : []), this.deadLetters, this.throttles];
  }

  #notRun(scheduled: LeaderScheduledFunction, hours: number, inOtherRegions: boolean): Alarm {
    return new Alarm(this, "NotRun", {
      alarmDescription: `The function of '${scheduled.election}' has not run for ${hours} hours.`,
      metric: inOtherRegions ? ranOrLeft(scheduled) : scheduled.metricRan({ period: HOUR }),
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      threshold: 1,
      evaluationPeriods: hours,
      // Missing metrics count as bad: there is no invocation that could report that nothing ran.
      treatMissingData: TreatMissingData.BREACHING,
    });
  }
}

const HOUR = Duration.hours(1);
/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html: with periods of an hour, 7 days. */
const LONGEST_HOURS = 7 * 24;
/** The alarm goes off at the first one. */
const ANY: Pick<AlarmProps, "comparisonOperator" | "threshold" | "evaluationPeriods" | "treatMissingData"> = {
  comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  threshold: 1,
  evaluationPeriods: 1,
  treatMissingData: TreatMissingData.NOT_BREACHING,
};

function ranOrLeft(scheduled: LeaderScheduledFunction): MathExpression {
  return new MathExpression({
    expression: "FILL(ran, 0) + FILL(skipped, 0)",
    usingMetrics: { ran: scheduled.metricRan(), skipped: scheduled.metricSkipped() },
    label: "ran, or left to another",
    period: HOUR,
  });
}

function hoursOf(duration: Duration): number {
  const hours = duration.toHours({ integral: false });
  if (Number.isInteger(hours) && hours >= 1 && hours <= LONGEST_HOURS) return hours;
  throw new ConfigurationError(
    `notRunFor is ${hours} hours; CloudWatch looks back on whole hours, from 1 to ${LONGEST_HOURS}. Make it longer than the longest pause of the schedule. If that is a week or more, leave notRunFor out.`,
  );
}
