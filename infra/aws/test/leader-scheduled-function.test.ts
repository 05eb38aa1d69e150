import { fileURLToPath } from "node:url";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Duration, type Stack } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { LeaderScheduledFunction, LeaseTable, type LeaderScheduledFunctionProps } from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { nagFindings, onlyOf, resourcesOf, strictStack, warningsOf } from "./strict-app.ts";

const entry = fileURLToPath(new URL("../programs/hourly-report.ts", import.meta.url));

function stackWith(props: Partial<LeaderScheduledFunctionProps> = {}): Stack {
  const stack = strictStack();
  new LeaderScheduledFunction(stack, "HourlyReport", {
    table: LeaseTable.fromTableName(stack, "Leases", "leases"),
    election: "hourly-report",
    schedule: ScheduleExpression.cron({ minute: "0" }),
    entry,
    ...props,
  });
  return stack;
}

describe("by default", () => {
  const stack = stackWith();

  test("the function has its timeout, its log group, its role, and knows the table and the election", () => {
    expect(onlyOf(stack, "AWS::Lambda::Function").Properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Timeout: 60,
      Environment: { Variables: { LEASE_TABLE: "leases", ELECTION: "hourly-report" } },
      LoggingConfig: { LogGroup: { Ref: expect.stringContaining("Log") } },
      Role: { "Fn::GetAtt": [expect.stringContaining("Role"), "Arn"] },
    });
    expect(onlyOf(stack, "AWS::Logs::LogGroup").Properties).toMatchObject({ RetentionInDays: 30 });
  });

  test("what cannot be delivered, and what fails at every attempt, goes to the dead-letter queue", () => {
    const queue = { "Fn::GetAtt": [expect.stringContaining("DeadLetters"), "Arn"] };
    expect(onlyOf(stack, "AWS::Lambda::EventInvokeConfig").Properties).toMatchObject({
      DestinationConfig: { OnFailure: { Destination: queue } },
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 3600,
    });
    expect(onlyOf(stack, "AWS::Scheduler::Schedule").Properties).toMatchObject({
      Target: { DeadLetterConfig: { Arn: queue }, RetryPolicy: { MaximumEventAgeInSeconds: 3600 } },
    });
    expect(onlyOf(stack, "AWS::SQS::Queue").Properties).toMatchObject({
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 1_209_600,
    });
  });

  test("the schedule has the same name in every region, and no input, so that the event tells its time", () => {
    const { Properties } = onlyOf<{ Target: object }>(stack, "AWS::Scheduler::Schedule");
    expect(Properties).toMatchObject({
      Name: "hourly-report",
      ScheduleExpression: "cron(0 * * * ? *)",
      FlexibleTimeWindow: { Mode: "OFF" },
    });
    expect(Properties.Target).not.toHaveProperty("Input");
  });

  test("its role may write its log, compete in its election, send to its queue, and nothing else", () => {
    const policy = resourcesOf<{ PolicyDocument: { Statement: Statement[] }; Roles: { Ref: string }[] }>(
      stack,
      "AWS::IAM::Policy",
    ).find(({ Properties }) => Properties.Roles.some(({ Ref }) => Ref.includes("ReportRole")));
    const statements = policy?.Properties.PolicyDocument.Statement ?? [];
    const resource = statements.flatMap(({ Resource }) => Resource).find((arn) => JSON.stringify(arn).includes("table/leases"));
    const may = (action: string, election: string): boolean =>
      allows(statements, { action, resource, context: { "dynamodb:LeadingKeys": [election] } });
    expect(may("dynamodb:UpdateItem", "hourly-report")).toBe(true);
    expect(may("dynamodb:UpdateItem", "other")).toBe(false);
    const services = statements.flatMap(({ Action }) => Action).map((action) => action.split(":")[0] ?? "");
    expect(new Set(services)).toEqual(new Set(["dynamodb", "logs", "sqs"]));
    expect(
      resourcesOf<{ ManagedPolicyArns?: unknown }>(stack, "AWS::IAM::Role").map(({ Properties }) => Properties.ManagedPolicyArns),
    ).toEqual([undefined, undefined]);
  });

  test("nobody is warned of anything, and cdk-nag finds nothing", () => {
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });
});

test("its metrics are those of the function and the queue", () => {
  const stack = strictStack();
  const table = LeaseTable.fromTableName(stack, "Leases", "leases");
  const construct = new LeaderScheduledFunction(stack, "F", {
    table,
    election: "e-1",
    schedule: ScheduleExpression.rate(Duration.hours(1)),
    entry,
  });
  const names = [construct.metricErrors(), construct.metricDeadLetters(), construct.metricDuration()].map(
    ({ metricName }) => metricName,
  );
  expect(names).toEqual(["Errors", "ApproximateNumberOfMessagesVisible", "Duration"]);
});

test("it takes what it is told", () => {
  const stack = stackWith({
    timeout: Duration.minutes(5),
    scheduleName: "other-name",
    retryAttempts: 0,
    environment: { MORE: "1" },
    memorySize: 512,
  });
  expect(onlyOf(stack, "AWS::Lambda::Function").Properties).toMatchObject({
    Timeout: 300,
    MemorySize: 512,
    Environment: { Variables: { MORE: "1", ELECTION: "hourly-report" } },
  });
  expect(onlyOf(stack, "AWS::Scheduler::Schedule").Properties).toMatchObject({ Name: "other-name" });
});

test.each<[string, Partial<LeaderScheduledFunctionProps>, RegExp]>([
  ["a timeout that Lambda does not have", { timeout: Duration.minutes(16) }, /Lambda takes 1 to 900.*CandidateService/],
  ["an election that no schedule can be called", { election: "nightly billing" }, /Set scheduleName/],
  ["no election", { election: "" }, /election/],
  ["an event that is too old", { maxEventAge: Duration.hours(7) }, /Lambda takes 60 to 21600/],
  ["too many attempts", { retryAttempts: 3 }, /0, 1 or 2/],
  ["the table's variable", { environment: { LEASE_TABLE: "other" } }, /LEASE_TABLE is set by the construct/],
])("%s is an error", (_, props, message) => {
  expect(() => stackWith(props)).toThrow(message);
});
