import { fileURLToPath } from "node:url";
import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Duration, type Stack } from "aws-cdk-lib/core";
import { expect, test, vi } from "vitest";
import { LeaderScheduledFunction, LeaseTable, ScheduledFunctionAlarms, type ScheduledFunctionAlarmsProps } from "../src/index.ts";
import { nagFindings, resourcesOf, strictStack, warningsOf } from "./strict-app.ts";

const entry = fileURLToPath(new URL("../programs/hourly-report.ts", import.meta.url));

function scheduledIn(stack: Stack, election = "hourly-report"): LeaderScheduledFunction {
  const table = new LeaseTable(stack, "Leases");
  const schedule = ScheduleExpression.cron({ minute: "0" });
  return new LeaderScheduledFunction(stack, "HourlyReport", { table, election, schedule, entry, scheduleName: "report" });
}

function alarmsWith(stack: Stack, props: Partial<ScheduledFunctionAlarmsProps> = {}): Record<string, unknown>[] {
  new ScheduledFunctionAlarms(stack, "Alarms", { scheduled: scheduledIn(stack), notRunFor: Duration.hours(3), ...props });
  return resourcesOf<Record<string, unknown>>(stack, "AWS::CloudWatch::Alarm").map(({ Properties }) => Properties);
}

test("there is an alarm if nothing has run, if an invocation was given up, and if Lambda delays invocations", () => {
  const stack = strictStack();
  const any = { Period: 300, EvaluationPeriods: 1, Threshold: 1, ComparisonOperator: "GreaterThanOrEqualToThreshold" };
  expect(alarmsWith(stack)).toEqual([
    expect.objectContaining({
      Namespace: "Leasehold",
      MetricName: "Ran",
      Dimensions: [{ Name: "Election", Value: "hourly-report" }],
      Statistic: "Sum",
      Period: 3600,
      EvaluationPeriods: 3,
      Threshold: 1,
      ComparisonOperator: "LessThanThreshold",
      TreatMissingData: "breaching",
    }),
    expect.objectContaining({
      ...any,
      Namespace: "AWS/SQS",
      MetricName: "ApproximateNumberOfMessagesVisible",
      Statistic: "Maximum",
      TreatMissingData: "notBreaching",
    }),
    expect.objectContaining({
      ...any,
      Namespace: "AWS/Lambda",
      MetricName: "Throttles",
      Statistic: "Sum",
      TreatMissingData: "notBreaching",
    }),
  ]);
  expect(warningsOf(stack)).toEqual([]);
  expect(nagFindings(stack)).toEqual([]);
});

test("without a time, as for a monthly schedule, there is no alarm for a missing run, and the others remain", () => {
  const stack = strictStack();
  const { alarms, notRun } = new ScheduledFunctionAlarms(stack, "Alarms", { scheduled: scheduledIn(stack) });
  expect(notRun).toBeUndefined();
  expect(alarms).toHaveLength(2);
  expect(resourcesOf(stack, "AWS::CloudWatch::Alarm")).toHaveLength(2);
});

test("in several regions a skipped invocation counts as a run", () => {
  const [notRun] = alarmsWith(strictStack(), { inOtherRegions: true });
  expect(notRun).toMatchObject({ EvaluationPeriods: 3, TreatMissingData: "breaching" });
  const metrics = JSON.stringify(notRun?.["Metrics"]);
  expect(metrics).toContain("FILL(ran, 0) + FILL(skipped, 0)");
  for (const name of ["Ran", "Skipped"]) expect(metrics).toContain(`"MetricName":"${name}"`);
});

test("each alarm runs its actions when it goes off and when it is over", () => {
  const stack = strictStack();
  const actions = [new SnsAction(new Topic(stack, "Topic"))];
  for (const properties of alarmsWith(stack, { actions })) {
    expect(properties).toMatchObject({ AlarmActions: [{ Ref: expect.any(String) }], OKActions: [{ Ref: expect.any(String) }] });
  }
});

test.each(["hourly-report", "夜"])("the alarm's metrics are those that a function of '%s' writes on Lambda", async (election) => {
  const scheduled = scheduledIn(strictStack(), election);
  const lines: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  try {
    const handler = onlyAsLeader({ store: new MemoryLeaseStore(), election }, () => {});
    const context = { functionName: "report", awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };
    await handler({ source: "aws.scheduler", "detail-type": "Scheduled Event" } as never, context as never);
  } finally {
    write.mockRestore();
  }
  const line = JSON.parse(lines[0] ?? "") as Record<string, unknown> & {
    _aws: { CloudWatchMetrics: [{ Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }] };
  };
  const [written] = line._aws.CloudWatchMetrics;
  for (const metric of [scheduled.metricRan(), scheduled.metricSkipped()]) {
    const { namespace, metricName, dimensions } = metric.toMetricConfig().metricStat ?? {};
    expect(written.Namespace).toBe(namespace);
    expect(written.Metrics.map(({ Name }) => Name)).toContain(metricName);
    expect(written.Dimensions).toEqual([dimensions?.map(({ name }) => name)]);
  }
  expect(line).toMatchObject({ Ran: 1, Skipped: 0 });
});

test.each([Duration.minutes(90), Duration.minutes(30), Duration.days(8)])("%s is not a valid time to look back", (notRunFor) => {
  expect(() => alarmsWith(strictStack(), { notRunFor })).toThrow(
    /whole hours, from 1 to 168.*a week or more, leave notRunFor out/s,
  );
});
