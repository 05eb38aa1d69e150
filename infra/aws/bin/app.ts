import { fileURLToPath } from "node:url";
import { AwsSolutionsChecks } from "cdk-nag";
import { Vpc } from "aws-cdk-lib/aws-ec2";
import { Repository } from "aws-cdk-lib/aws-ecr";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { App, CfnOutput, Duration, Stack, Validations } from "aws-cdk-lib/core";
import {
  CandidateService,
  ElectionAlarms,
  LeaderScheduledFunction,
  LeaseTable,
  OCCURRENCE_TTL_ATTRIBUTE,
  ScheduledFunctionAlarms,
} from "@leasehold/infra-aws";
import settings from "../cdk.json" with { type: "json" };

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const CANDIDATES_ELECTION = "nightly-billing";
const FUNCTION_ELECTION = "hourly-report";
/** The region of the one table. It is written here, so that a deployment with other credentials does not make a second table. */
const env = { region: "eu-central-1" };

// The command line sets the folder of the templates. Without it they are written here too.
const app = new App({ context: settings.context, outdir: process.env["CDK_OUTDIR"] ?? path("../cdk.out") });
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

const leases = new Stack(app, "LeaseholdTable", {
  env,
  description: "Leasehold: the table of leases.",
  terminationProtection: true,
});
const table = new LeaseTable(leases, "Leases", { occurrenceTtlAttribute: OCCURRENCE_TTL_ATTRIBUTE });
new CfnOutput(leases, "TableName", { value: table.tableName });

const candidates = new Stack(app, "LeaseholdCandidates", {
  env,
  description: "Leasehold: two candidates on Fargate, with alarms and a dashboard.",
});
// A network for an account without one. Pass yours instead: Vpc.fromLookup.
const vpc = new Vpc(candidates, "Network", { maxAzs: 2, natGateways: 1 });
Validations.of(vpc).acknowledge({ id: "AwsSolutions-VPC7", reason: "Flow logs are for the owner of a network to decide on." });
new CandidateService(candidates, "Candidates", {
  table,
  vpc,
  election: CANDIDATES_ELECTION,
  // The image of programs/Dockerfile, in a repository of yours.
  image: ContainerImage.fromEcrRepository(Repository.fromRepositoryName(candidates, "Images", "leasehold"), "1"),
});
new ElectionAlarms(candidates, "Alarms", { election: CANDIDATES_ELECTION });

const schedule = new Stack(app, "LeaseholdSchedule", { env, description: "Leasehold: a function that does each hour once." });
const scheduled = new LeaderScheduledFunction(schedule, "HourlyReport", {
  table,
  election: FUNCTION_ELECTION,
  schedule: ScheduleExpression.cron({ minute: "0" }),
  entry: path("../programs/hourly-report.ts"),
  // Bundle the sources of this repository. If our packages are installed, leave the condition out.
  bundling: { esbuildArgs: { "--conditions": "@leasehold/source,module" } },
});
new ScheduledFunctionAlarms(schedule, "Alarms", { scheduled, notRunFor: Duration.hours(3) });

app.synth();
