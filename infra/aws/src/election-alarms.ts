import { ConfigurationError } from "@leasehold/core";
import { METRIC_NAMES } from "@leasehold/core/diagnostics";
import {
  Alarm,
  AlarmStatusWidget,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  Stats,
  TreatMissingData,
  type IAlarmAction,
  type IWidget,
  type Metric,
  type MetricOptions,
} from "aws-cdk-lib/aws-cloudwatch";
import { Duration, Token } from "aws-cdk-lib/core";
import { Construct } from "constructs";
import { checkElectionDimension, electionMetric, hasLeaderMetric } from "./election-metrics.ts";

/** The settings of {@link ElectionAlarms}. */
export interface ElectionAlarmsProps {
  /** The election. All of its candidates have to write metrics (`publishMetrics` of `@leasehold/core/diagnostics`). */
  readonly election: string;
  /**
   * The time without a leader after which the alarm goes off, in whole minutes.
   * @default Duration.minutes(3)
   */
  readonly noLeaderAfter?: Duration;
  /**
   * The number of terms that may begin within 10 minutes.
   * @default 5
   */
  readonly maxTransitions?: number;
  /**
   * The part of `renewDeadlineMs` that the time between two renewals may take. With the default durations the part is a half in
   * normal operation. At 1 the leadership is lost.
   * @default 0.8
   */
  readonly maxRenewalGapRatio?: number;
  /**
   * The actions of each alarm when it goes off, and when it is over.
   * @default - none: the alarms only show their state
   */
  readonly actions?: IAlarmAction[];
  /**
   * The dashboard to which the widgets are added.
   * @default - a new one
   */
  readonly dashboard?: Dashboard;
}

/**
 * Alarms for an election whose candidates run all the time, and a dashboard of the metrics that they read. The alarms go off if
 * nobody leads, if the leadership moves too often, or if renewals come close to their deadline. An election of functions has no
 * leader between two invocations: use {@link ScheduledFunctionAlarms} for those.
 */
export class ElectionAlarms extends Construct {
  /** Goes off if no candidate leads in any region, or if none of this region reports. */
  readonly noLeader: Alarm;
  /** Goes off if the leadership moves too often. */
  readonly flapping: Alarm;
  /** Goes off if renewals come close to their deadline. */
  readonly lateRenewals: Alarm;
  readonly dashboard: Dashboard;
  readonly #election: string;

  /** @throws {ConfigurationError} for settings with which an alarm would never or always go off. */
  constructor(scope: Construct, id: string, props: ElectionAlarmsProps) {
    super(scope, id);
    const { election, maxTransitions = 5, maxRenewalGapRatio = 0.8 } = props;
    checkElectionDimension(election);
    const noLeaderMinutes = minutes(props.noLeaderAfter ?? Duration.minutes(3));
    checkThresholds(maxTransitions, maxRenewalGapRatio);
    this.#election = election;
    this.noLeader = new Alarm(this, "NoLeader", {
      alarmDescription: `Nobody has led the election '${election}' for ${noLeaderMinutes} minutes, or no candidate runs.`,
      metric: this.metricHasLeader(),
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      threshold: 1,
      evaluationPeriods: noLeaderMinutes,
      // Missing metrics count as bad: there is no candidate left that could report that nobody leads.
      treatMissingData: TreatMissingData.BREACHING,
    });
    this.flapping = new Alarm(this, "Flapping", {
      alarmDescription: `The leadership of the election '${election}' has begun more than ${maxTransitions} times within ${FLAPPING_MINUTES} minutes.`,
      metric: this.metricTransitions({ period: Duration.minutes(FLAPPING_MINUTES) }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: maxTransitions,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    this.lateRenewals = new Alarm(this, "LateRenewals", {
      alarmDescription: `Renewals of the election '${election}' took more than ${maxRenewalGapRatio} of their deadline, in two minutes out of five.`,
      metric: this.metricRenewalGapRatio(),
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: maxRenewalGapRatio,
      evaluationPeriods: 5,
      // One renewal that had to be sent again is normal.
      datapointsToAlarm: 2,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    for (const alarm of this.alarms) {
      alarm.addAlarmAction(...(props.actions ?? []));
      alarm.addOkAction(...(props.actions ?? []));
    }
    this.dashboard = props.dashboard ?? new Dashboard(this, "Dashboard");
    this.dashboard.addWidgets(...this.#widgets(maxRenewalGapRatio));
  }

  /** All alarms. */
  get alarms(): readonly Alarm[] {
    return [this.noLeader, this.flapping, this.lateRenewals];
  }

  /** 1 in a minute in which a candidate of this region led, or observed a leader in any region; else 0. */
  metricHasLeader(options?: MetricOptions): Metric {
    return hasLeaderMetric(this.#election, options);
  }

  /** The number of terms that began. */
  metricTransitions(options?: MetricOptions): Metric {
    return electionMetric(this.#election, METRIC_NAMES.transitions, { statistic: Stats.SUM, ...options });
  }

  /** The longest time between two renewals, as a part of `renewDeadlineMs`. */
  metricRenewalGapRatio(options?: MetricOptions): Metric {
    return electionMetric(this.#election, METRIC_NAMES.renewalGapRatio, { statistic: Stats.MAXIMUM, ...options });
  }

  #widgets(maxRenewalGapRatio: number): IWidget[] {
    const title = (what: string): string => `${this.#election}: ${what}`;
    return [
      new AlarmStatusWidget({ title: title("alarms"), alarms: [...this.alarms], width: 6, height: 6 }),
      new GraphWidget({
        title: title("somebody leads"),
        left: [this.metricHasLeader()],
        leftYAxis: { min: 0, max: 1 },
        width: 6,
      }),
      new GraphWidget({ title: title("terms begun"), left: [this.metricTransitions()], leftYAxis: { min: 0 }, width: 6 }),
      new GraphWidget({
        title: title("time between renewals / deadline"),
        left: [this.metricRenewalGapRatio()],
        leftAnnotations: [{ value: maxRenewalGapRatio, label: "alarm" }],
        leftYAxis: { min: 0, max: 1 },
        width: 6,
      }),
    ];
  }
}

const FLAPPING_MINUTES = 10;

function minutes(duration: Duration): number {
  const seconds = duration.toSeconds();
  if (seconds >= 60 && seconds % 60 === 0) return seconds / 60;
  throw new ConfigurationError(
    `noLeaderAfter is ${seconds} s; metrics come once a minute, so it must be a whole number of minutes, from 1.`,
  );
}

function checkThresholds(maxTransitions: number, maxRenewalGapRatio: number): void {
  if (!Token.isUnresolved(maxTransitions) && !(maxTransitions >= 1)) {
    throw new ConfigurationError(`maxTransitions is ${maxTransitions}; a single start is no flapping, so it must be at least 1.`);
  }
  if (!Token.isUnresolved(maxRenewalGapRatio) && !(maxRenewalGapRatio > 0 && maxRenewalGapRatio < 1)) {
    throw new ConfigurationError(
      `maxRenewalGapRatio is ${maxRenewalGapRatio}; at 1 the leadership is lost and no renewal is measured any more, so it must be between 0 and 1.`,
    );
  }
}
