import { ELECTION_DIMENSION, METRIC_NAMES, METRICS_NAMESPACE } from "@leasehold/core/diagnostics";
import { Dashboard } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Duration } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { ElectionAlarms, type ElectionAlarmsProps } from "../src/index.ts";
import { nagFindings, onlyOf, resourcesOf, strictStack, warningsOf } from "./strict-app.ts";

const election = "nightly-billing";

function alarmsWith(props: Partial<ElectionAlarmsProps> = {}): Record<string, unknown>[] {
  const stack = strictStack();
  new ElectionAlarms(stack, "Alarms", { election, ...props });
  return resourcesOf<Record<string, unknown>>(stack, "AWS::CloudWatch::Alarm").map(({ Properties }) => Properties);
}

test("the metrics have the names and the dimension of the library's metrics", () => {
  const alarms = new ElectionAlarms(strictStack(), "Alarms", { election });
  const metrics = [alarms.metricHasLeader(), alarms.metricTransitions(), alarms.metricRenewalGapRatio()];
  const { hasLeader, transitions, renewalGapRatio } = METRIC_NAMES;
  expect(metrics.map(({ metricName }) => metricName)).toEqual([hasLeader, transitions, renewalGapRatio]);
  for (const metric of metrics) {
    expect(metric.toMetricConfig().metricStat).toMatchObject({
      namespace: METRICS_NAMESPACE,
      dimensions: [{ name: ELECTION_DIMENSION, value: election }],
    });
  }
});

test("there is an alarm for a missing leader, for flapping, and for late renewals", () => {
  const common = { Namespace: "Leasehold", Dimensions: [{ Name: "Election", Value: election }] };
  expect(alarmsWith()).toEqual([
    expect.objectContaining({
      ...common,
      // Where another region leads, IsLeader is 0 here for good.
      MetricName: "HasLeader",
      Statistic: "Maximum",
      Period: 60,
      EvaluationPeriods: 3,
      ComparisonOperator: "LessThanThreshold",
      Threshold: 1,
      TreatMissingData: "breaching",
    }),
    expect.objectContaining({
      ...common,
      MetricName: "Transitions",
      Statistic: "Sum",
      Period: 600,
      EvaluationPeriods: 1,
      ComparisonOperator: "GreaterThanThreshold",
      Threshold: 5,
      TreatMissingData: "notBreaching",
    }),
    expect.objectContaining({
      ...common,
      MetricName: "RenewalGapRatio",
      Statistic: "Maximum",
      Period: 60,
      EvaluationPeriods: 5,
      DatapointsToAlarm: 2,
      ComparisonOperator: "GreaterThanThreshold",
      Threshold: 0.8,
      TreatMissingData: "notBreaching",
    }),
  ]);
});

test("each alarm runs its actions when it goes off and when it is over", () => {
  const stack = strictStack();
  const actions = [new SnsAction(new Topic(stack, "Topic"))];
  new ElectionAlarms(stack, "Alarms", { election, actions });
  for (const { Properties } of resourcesOf<Record<string, unknown>>(stack, "AWS::CloudWatch::Alarm")) {
    expect(Properties).toMatchObject({ AlarmActions: [{ Ref: expect.any(String) }], OKActions: [{ Ref: expect.any(String) }] });
  }
});

describe("the dashboard", () => {
  test("shows the alarms' metrics", () => {
    const stack = strictStack();
    new ElectionAlarms(stack, "Alarms", { election });
    const body = JSON.stringify(onlyOf(stack, "AWS::CloudWatch::Dashboard").Properties);
    const { isLeader: _, ...read } = METRIC_NAMES;
    for (const shown of Object.values(read)) expect(body).toContain(shown);
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });

  test("may be one for several elections", () => {
    const stack = strictStack();
    const dashboard = new Dashboard(stack, "Dashboard");
    for (const name of ["one", "two"]) new ElectionAlarms(stack, name, { election: name, dashboard });
    const body = JSON.stringify(onlyOf(stack, "AWS::CloudWatch::Dashboard").Properties);
    expect(body).toContain("one: terms begun");
    expect(body).toContain("two: terms begun");
  });
});

test.each<[string, Partial<ElectionAlarmsProps>, string]>([
  ["an election that has no dimension", { election: "夜" }, "printable ASCII"],
  ["no election", { election: "" }, "election"],
  ["a time of seconds", { noLeaderAfter: Duration.seconds(90) }, "whole number of minutes"],
  ["no time at all", { noLeaderAfter: Duration.seconds(0) }, "whole number of minutes"],
  ["a start that is flapping", { maxTransitions: 0 }, "at least 1"],
  ["a gap that is never measured", { maxRenewalGapRatio: 1 }, "between 0 and 1"],
  ["a gap of nothing", { maxRenewalGapRatio: 0 }, "between 0 and 1"],
])("%s is an error", (_, props, message) => {
  expect(() => alarmsWith(props)).toThrow(message);
});
