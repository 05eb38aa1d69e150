import { fileURLToPath } from "node:url";
import * as exported from "@leasehold/infra-aws";
import { cost, HOURS, type Price } from "@leasehold/test-kit/costs/cost";
import { testCosts } from "@leasehold/test-kit/costs/page";
import { DYNAMODB_READ, DYNAMODB_WRITE, OBJECT_READ, OBJECT_WRITE } from "@leasehold/test-kit/costs/request-prices";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Duration } from "aws-cdk-lib/core";
import { expect, test } from "vitest";
import { existingVpc, onlyOf, resourcesOf, strictStack } from "./strict-app.ts";

const { CandidateService, ElectionAlarms, LeaderScheduledFunction, LeaseTable, ScheduledFunctionAlarms } = exported;

const FARGATE = "https://aws.amazon.com/fargate/pricing/";
const CLOUDWATCH = "https://aws.amazon.com/cloudwatch/pricing/";
const LAMBDA = "https://aws.amazon.com/lambda/pricing/";

const processor: Price = { of: "a vCPU for an hour", usd: 0.04048, source: FARGATE };
const memory: Price = { of: "a GB of memory beside it for an hour", usd: 0.004445, source: FARGATE };
const alarm: Price = { of: "an alarm", usd: 0.1, source: CLOUDWATCH };
const metric: Price = { of: "a metric of one's own", usd: 0.3, source: CLOUDWATCH };
const dashboard: Price = { of: "a dashboard", usd: 3, source: CLOUDWATCH };
const log: Price = { of: "a GB of log that is taken in", usd: 0.5, source: CLOUDWATCH };
const invocation: Price = { of: "an invocation by Lambda", usd: 0.2, per: 1_000_000, source: LAMBDA };
const duration: Price = { of: "a GB of memory of a function of ARM for a second", usd: 0.0000133334, source: LAMBDA };
const scheduled: Price = {
  of: "an invocation by EventBridge Scheduler",
  usd: 1,
  per: 1_000_000,
  source: "https://aws.amazon.com/eventbridge/pricing/",
};

testCosts(
  {
    folder: "aws",
    region: "us-east-1",
    seen: "as other pages cite Amazon's, 2026-11-23",
    constructs: {
      LeaseTable: {
        makes: "a DynamoDB table on demand, restorable, protected from deletion, retained; some KB, which cost less than a cent",
        costs: [
          cost(DYNAMODB_WRITE, [720, "renewals an hour"], HOURS),
          cost(DYNAMODB_READ, [1, "standby"], [2_300, "polls an hour"], [0.5, "since they need not be consistent"], HOURS),
        ],
        rights: "nobody, until granted, election by election; candidates may not delete or scan",
      },
      LeaseBucket: {
        makes: "a private S3 bucket, retained, in place of a table",
        costs: [
          cost(OBJECT_WRITE, [720, "renewals an hour"], HOURS),
          cost(OBJECT_READ, [1, "standby"], [2_300, "polls an hour"], HOURS),
        ],
        rights: "nobody, until granted by election; nobody may delete",
      },
      CandidateService: {
        makes:
          "a Fargate service of 2 tasks, with a role, a log and an alarm that rolls deployments back. The network is yours, and not counted",
        costs: [
          cost(processor, [2, "tasks"], [0.25, "vCPU"], HOURS),
          cost(memory, [2, "tasks"], [0.5, "GB"], HOURS),
          cost(log, [2, "tasks"], [60, "lines an hour"], [0.00000045, "GB"], HOURS),
          cost(alarm, [1, "alarm"]),
        ],
        rights: "its tasks are candidates of the one election",
      },
      ElectionAlarms: {
        makes: "3 alarms and a dashboard, on 3 of the 4 metrics that candidates write into their log",
        costs: [cost(alarm, [3, "alarms"]), cost(metric, [4, "metrics"]), cost(dashboard, [1, "dashboard"])],
        rights: "nobody anything",
      },
      LeaderScheduledFunction: {
        makes: "a schedule, a Lambda, a dead-letter queue, a log, a role for each of the first two; once an hour for a second",
        costs: [
          cost(scheduled, HOURS),
          cost(invocation, HOURS),
          cost(duration, HOURS, [1, "s"], [0.25, "GB"]),
          // The claim, its end, the note of it, and the read before each.
          cost(DYNAMODB_WRITE, HOURS, [3, "writes"]),
          cost(DYNAMODB_READ, HOURS, [3, "reads"]),
        ],
        rights:
          "the function is a candidate of the one election; the schedule's role may invoke it, for this account's schedules alone",
      },
      ScheduledFunctionAlarms: {
        makes: "3 alarms, on metrics that AWS has anyway, and on the 4 that the function writes into its log",
        costs: [cost(alarm, [3, "alarms"]), cost(metric, [4, "metrics"])],
        rights: "nobody anything",
      },
    },
  },
  exported,
);

test("the arithmetic counts the resources that the constructs make", () => {
  const stack = strictStack();
  const table = new LeaseTable(stack, "Leases");
  const image = ContainerImage.fromRegistry("example");
  const vpc = existingVpc(stack);
  new CandidateService(stack, "Candidates", { table, election: "e", image, vpc });
  new ElectionAlarms(stack, "Alarms", { election: "e" });
  const schedule = ScheduleExpression.cron({ minute: "0" });
  const entry = fileURLToPath(new URL("../programs/hourly-report.ts", import.meta.url));
  const report = new LeaderScheduledFunction(stack, "Report", { table, election: "report", schedule, entry });
  new ScheduledFunctionAlarms(stack, "ReportAlarms", { scheduled: report, notRunFor: Duration.hours(3) });

  expect(resourcesOf(stack, "AWS::CloudWatch::Alarm")).toHaveLength(1 + 3 + 3);
  expect(resourcesOf(stack, "AWS::CloudWatch::Dashboard")).toHaveLength(1);
  expect(resourcesOf(stack, "AWS::EC2::VPCEndpoint")).toEqual([]);
  expect(onlyOf(stack, "AWS::ECS::Service").Properties).toMatchObject({ DesiredCount: 2 });
  expect(onlyOf(stack, "AWS::ECS::TaskDefinition").Properties).toMatchObject({ Cpu: "256", Memory: "512" });
  expect(onlyOf(stack, "AWS::Lambda::Function").Properties).toMatchObject({ MemorySize: 256, Architectures: ["arm64"] });
});
