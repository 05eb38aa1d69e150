import { fileURLToPath } from "node:url";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { MemoryLeaseStore } from "@leasehold/core";
import { Duration, Stack, type App } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { LeaderScheduledFunction, LeaseTable, type LeaderScheduledFunctionProps } from "../src/index.ts";
import { timeBudget } from "../../../packages/functions/src/time-budget.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import {
  existingVpc,
  nagFindings,
  onlyOf,
  resourcesOf,
  strictApp,
  strictStack,
  SUBNETS,
  TABLE_ARN,
  warningsOf,
} from "./strict-app.ts";

const entry = fileURLToPath(new URL("../programs/hourly-report.ts", import.meta.url));

function stackWith(props: Partial<LeaderScheduledFunctionProps> = {}): Stack {
  const stack = strictStack();
  new LeaderScheduledFunction(stack, "HourlyReport", {
    table: LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN),
    election: "hourly-report",
    schedule: ScheduleExpression.cron({ minute: "0" }),
    entry,
    ...props,
  });
  return stack;
}

describe("by default", () => {
  const stack = stackWith();

  test("the function has its timeout, its log group and its role, and gets the table and the election", () => {
    expect(onlyOf(stack, "AWS::Lambda::Function").Properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Timeout: 60,
      Environment: {
        Variables: {
          LEASE_TABLE: "leases",
          LEASE_TABLE_REGION: "eu-central-1",
          ELECTION: "hourly-report",
          LEASE_WAIT_MS: "0",
          NODE_OPTIONS: "--enable-source-maps",
        },
      },
      LoggingConfig: { LogGroup: { Ref: expect.stringContaining("Log") } },
      Role: { "Fn::GetAtt": [expect.stringContaining("Role"), "Arn"] },
    });
    expect(onlyOf(stack, "AWS::Logs::LogGroup").Properties).toMatchObject({ RetentionInDays: 30 });
  });

  test("undelivered invocations, and those that fail at every attempt, go to the dead-letter queue", () => {
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

  test("the schedule has the same name in every region, and its event contains its time, by documented attributes", () => {
    const { Properties } = onlyOf<{ Target: { Input: string } }>(stack, "AWS::Scheduler::Schedule");
    expect(Properties).toMatchObject({
      Name: "hourly-report",
      ScheduleExpression: "cron(0 * * * ? *)",
      FlexibleTimeWindow: { Mode: "OFF" },
    });
    expect(JSON.parse(Properties.Target.Input)).toEqual({
      id: "<aws.scheduler.execution-id>",
      source: "aws.scheduler",
      "detail-type": "Scheduled Event",
      time: "<aws.scheduler.scheduled-time>",
      resources: ["<aws.scheduler.schedule-arn>"],
      detail: {},
    });
  });

  test("only schedules of this account may use the schedule's role", () => {
    const roles = resourcesOf<{ AssumeRolePolicyDocument: { Statement: [object] } }>(stack, "AWS::IAM::Role");
    const trusts = roles.flatMap(({ Properties }) => Properties.AssumeRolePolicyDocument.Statement);
    expect(trusts).toContainEqual({
      Action: "sts:AssumeRole",
      Effect: "Allow",
      Principal: { Service: "scheduler.amazonaws.com" },
      Condition: {
        StringEquals: {
          "aws:SourceAccount": { Ref: "AWS::AccountId" },
          "aws:SourceArn": {
            "Fn::Join": ["", expect.arrayContaining([":scheduler:eu-central-1:", ":schedule-group/default"])],
          },
        },
      },
    });
  });

  test("its role may write its log, compete in its election and send to its queue, and do nothing else", () => {
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

  test("there is no warning, and cdk-nag finds nothing", () => {
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });
});

describe("after a crash, an attempt comes once the lease has run out", () => {
  test.each([
    [Duration.minutes(1), 2],
    [Duration.minutes(5), 2],
    [Duration.minutes(15), 2],
    [Duration.minutes(1), 1],
    [Duration.seconds(10), 1],
  ])("with a timeout of %s and %d further attempts", (timeout, retryAttempts) => {
    const stack = stackWith({ timeout, retryAttempts });
    const timeoutS = timeout.toSeconds();
    const { Properties } = onlyOf<{ Environment: { Variables: { LEASE_WAIT_MS: string } } }>(stack, "AWS::Lambda::Function");
    const waitS = Number(Properties.Environment.Variables.LEASE_WAIT_MS) / 1_000;
    const { MaximumEventAgeInSeconds: ageS } = onlyOf<{ MaximumEventAgeInSeconds: number }>(
      stack,
      "AWS::Lambda::EventInvokeConfig",
    ).Properties;
    // The default lease of `onlyAsLeader`, computed independently of the construct.
    const { timing } = timeBudget(timeoutS * 1_000, {}, new MemoryLeaseStore().capabilities);
    const leaseS = (timing.leaseDurationMs ?? 0) / 1_000;
    // The worst case: the invocation dies right after its claim, so that only waits fill the time.
    const retriesS = [60, 120].slice(0, retryAttempts).reduce((sum, each) => sum + each, 0);
    expect(retriesS + waitS).toBeGreaterThanOrEqual(leaseS);
    expect(waitS).toBeLessThan(timeoutS);
    expect(ageS).toBeGreaterThanOrEqual(timeoutS + retriesS + waitS);
  });
});

describe("a rate", () => {
  const schedule = ScheduleExpression.rate(Duration.hours(1));
  const inRegion = (app: App, region: string, expression: ScheduleExpression): Stack => {
    const stack = new Stack(app, region, { env: { region } });
    new LeaderScheduledFunction(stack, "HourlyReport", {
      table: LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN),
      election: "hourly-report",
      schedule: expression,
      entry,
    });
    return stack;
  };

  test("is not warned of in one region", () => {
    expect(warningsOf(stackWith({ schedule }))).toEqual([]);
  });

  test("is warned of in two regions, where each has another phase, unlike a cron", () => {
    const app = strictApp();
    inRegion(app, "eu-central-1", schedule);
    expect(warningsOf(inRegion(app, "eu-west-1", schedule))).toEqual([
      expect.stringMatching(/rate\(1 hour\) in eu-west-1.*Use ScheduleExpression.cron/s),
    ]);
    expect(warningsOf(inRegion(strictApp(), "eu-west-1", schedule))).toHaveLength(1);
    expect(warningsOf(inRegion(strictApp(), "eu-west-1", ScheduleExpression.cron({ minute: "0" })))).toEqual([]);
  });

  test("is warned of with a function in another region on a table that is in both", () => {
    const app = strictApp();
    const there = TABLE_ARN.replace("eu-central-1", "eu-west-1");
    inRegion(app, "eu-central-1", schedule);
    const stack = new Stack(app, "Replica", { env: { region: "eu-west-1" } });
    const table = LeaseTable.fromTableAttributes(stack, "Leases", { tableArn: there, replicaRegions: ["eu-central-1"] });
    new LeaderScheduledFunction(stack, "HourlyReport", { table, election: "hourly-report", schedule, entry });
    expect(warningsOf(stack)).toHaveLength(1);
  });
});

test("two functions of one election in a region are an error, unless their schedules have different names", () => {
  const app = strictApp();
  const add = (stack: Stack, id: string, scheduleName?: string): void => {
    const table = LeaseTable.fromTableArn(stack, `${id}Leases`, TABLE_ARN);
    const schedule = ScheduleExpression.cron({ minute: "0" });
    new LeaderScheduledFunction(stack, id, { table, election: "report", schedule, entry, scheduleName });
  };
  const here = new Stack(app, "Here", { env: { region: "eu-central-1" } });
  add(here, "Morning");
  add(here, "Evening", "report-evening");
  add(new Stack(app, "Elsewhere", { env: { region: "eu-west-1" } }), "Morning");
  const beside = new Stack(app, "Beside", { env: { region: "eu-central-1" } });
  for (const stack of [here, beside]) {
    expect(() => add(stack, "Noon")).toThrow(/Noon and Here\/Morning would both make the schedule "report".*Set scheduleName/);
  }
});

test("the props set the function and the schedule", () => {
  const stack = stackWith({
    timeout: Duration.minutes(5),
    scheduleName: "other-name",
    retryAttempts: 0,
    environment: { MORE: "1", NODE_OPTIONS: "--no-warnings" },
    functionProps: { memorySize: 512 },
  });
  expect(onlyOf(stack, "AWS::Lambda::Function").Properties).toMatchObject({
    Timeout: 300,
    MemorySize: 512,
    Environment: { Variables: { MORE: "1", ELECTION: "hourly-report", NODE_OPTIONS: "--enable-source-maps --no-warnings" } },
  });
  expect(onlyOf(stack, "AWS::Scheduler::Schedule").Properties).toMatchObject({ Name: "other-name" });
});

test("a function in a network may make its interfaces", () => {
  const stack = strictStack();
  const vpc = existingVpc(stack);
  new LeaderScheduledFunction(stack, "F", {
    table: LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN),
    election: "report",
    schedule: ScheduleExpression.cron({ minute: "0" }),
    entry,
    functionProps: { vpc, reservedConcurrentExecutions: 1 },
  });
  expect(onlyOf(stack, "AWS::Lambda::Function").Properties).toMatchObject({
    VpcConfig: { SubnetIds: SUBNETS },
    ReservedConcurrentExecutions: 1,
  });
  expect(JSON.stringify(resourcesOf(stack, "AWS::IAM::Role"))).toContain("AWSLambdaVPCAccessExecutionRole");
  expect(nagFindings(stack)).toEqual([]);
});

test.each<[string, Partial<LeaderScheduledFunctionProps>, RegExp]>([
  ["a timeout that Lambda does not have", { timeout: Duration.minutes(16) }, /Lambda takes 1 to 900.*CandidateService/],
  ["an election that no schedule can be called", { election: "nightly billing" }, /Set scheduleName/],
  ["no election", { election: "" }, /election/],
  ["too many attempts", { retryAttempts: 3 }, /0, 1 or 2/],
  [
    "one attempt that cannot wait for the lease",
    { timeout: Duration.minutes(15), retryAttempts: 1 },
    /a lease of 1002 s.*after 60 s/,
  ],
  ["the table's variable", { environment: { LEASE_TABLE: "other" } }, /LEASE_TABLE is set by the construct/],
])("%s is an error", (_, props, message) => {
  expect(() => stackWith(props)).toThrow(message);
});
