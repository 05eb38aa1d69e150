import { fileURLToPath } from "node:url";
import { AwsSolutionsChecks } from "cdk-nag";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { App, CfnOutput, Stack, Validations } from "aws-cdk-lib/core";
import { CandidateService, ElectionAlarms, LeaderScheduledFunction, LeaseTable, OCCURRENCE_TTL_ATTRIBUTE } from "../src/index.ts";
import settings from "../cdk.json" with { type: "json" };
import { candidateImage, CANDIDATE_ARCHITECTURE } from "./candidate-image.ts";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const CANDIDATES_ELECTION = "nightly-billing";
const FUNCTION_ELECTION = "hourly-report";

// The command line says where it wants the templates; without it they are here, too.
const app = new App({ context: settings.context, outdir: process.env["CDK_OUTDIR"] ?? path("../cdk.out") });
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

const leases = new Stack(app, "LeaseholdTable", {
  description: "Leasehold: the table of leases.",
  terminationProtection: true,
});
const table = new LeaseTable(leases, "Leases", { occurrenceTtlAttribute: OCCURRENCE_TTL_ATTRIBUTE });
new CfnOutput(leases, "TableName", { value: table.tableName });

const candidates = new Stack(app, "LeaseholdCandidates", {
  description: "Leasehold: two candidates on Fargate, with alarms and a dashboard.",
});
new CandidateService(candidates, "Candidates", {
  table,
  election: CANDIDATES_ELECTION,
  image: candidateImage(path("../programs"), path("../../../node_modules/.cache/leasehold-infra-aws/candidate")),
  cpuArchitecture: CANDIDATE_ARCHITECTURE,
});
new ElectionAlarms(candidates, "Alarms", { election: CANDIDATES_ELECTION, table });

const schedule = new Stack(app, "LeaseholdSchedule", { description: "Leasehold: a function that does each hour once." });
new LeaderScheduledFunction(schedule, "HourlyReport", {
  table,
  election: FUNCTION_ELECTION,
  schedule: ScheduleExpression.cron({ minute: "0" }),
  entry: path("../programs/hourly-report.ts"),
  // From the sources of this repository; where our packages are installed, leave this out.
  bundling: { esbuildArgs: { "--conditions": "@leasehold/source,module" } },
});

app.synth();
