/** The app of the README, and the one of site/pages/infrastructure.md, compiled. */
/* oxlint-disable import/no-duplicates -- each block of the README brings what it needs */
import { CandidateService, ElectionAlarms } from "@leasehold/infra-aws";
import { LeaderScheduledFunction, ScheduledFunctionAlarms } from "@leasehold/infra-aws";
import { LeaseTable } from "@leasehold/infra-aws";
import { App, Stack } from "aws-cdk-lib";
import { Duration } from "aws-cdk-lib";
import { Vpc } from "aws-cdk-lib/aws-ec2";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import { Cluster, FargateTaskDefinition } from "aws-cdk-lib/aws-ecs";
import { Role, ServicePrincipal, SessionTagsPrincipal } from "aws-cdk-lib/aws-iam";
import { ContextAttribute, Schedule, ScheduleTargetInput } from "aws-cdk-lib/aws-scheduler";
import { EcsRunFargateTask } from "aws-cdk-lib/aws-scheduler-targets";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";

// The region of the one table. It stands here, so that nobody makes another by being signed in elsewhere.
const env = { region: "eu-central-1" };
const app = new App();

const leases = new Stack(app, "LeaseholdTable", { env, terminationProtection: true });
const table = new LeaseTable(leases, "Leases", { tableName: "leases", occurrenceTtlAttribute: "expiresAt" });

const workers = new Stack(app, "LeaseholdCandidates", { env });
const exclude = ["*", "!package*.json", "!candidate.ts"];
const image = ContainerImage.fromAsset(".", { platform: Platform.LINUX_AMD64, exclude });
const vpc = new Vpc(workers, "Network", { maxAzs: 2, natGateways: 1 });
new CandidateService(workers, "Candidates", { table, election: "nightly-billing", image, vpc });
new ElectionAlarms(workers, "Alarms", { election: "nightly-billing" });

const reports = new Stack(app, "LeaseholdReports", { env });
const schedule = ScheduleExpression.cron({ minute: "0" });
const entry = "hourly-report.ts";
const scheduled = new LeaderScheduledFunction(reports, "Report", { table, election: "hourly-report", schedule, entry });
new ScheduledFunctionAlarms(reports, "Alarms", { scheduled, notRunFor: Duration.hours(3) });

const ireland = new Stack(app, "LeaseholdReportsInIreland", { env: { region: "eu-west-1" } });
const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/leases";
const taken = LeaseTable.fromTableArn(ireland, "Leases", arn);
new LeaderScheduledFunction(ireland, "Report", { table: taken, election: "hourly-report", schedule, entry });

const pods = new Role(workers, "Pods", { assumedBy: new SessionTagsPrincipal(new ServicePrincipal("pods.eks.amazonaws.com")) });
table.grantCandidate(pods, "nightly-billing");
const taskDefinition = new FargateTaskDefinition(workers, "Close");
taskDefinition.addContainer("close", {
  image: ContainerImage.fromRegistry("registry.example/close:1"),
  environment: { LEASEHOLD_STORE: `dynamodb://${table.tableName}?region=${table.region}`, LEASEHOLD_ELECTION: "close" },
});
table.grantCandidate(taskDefinition.taskRole, "close");
const command = ["leasehold", "run", "--occurrence", ContextAttribute.scheduledTime, "--", "./close"];
const input = ScheduleTargetInput.fromObject({ containerOverrides: [{ name: "close", command }] });
new Schedule(workers, "Nightly", {
  schedule: ScheduleExpression.cron({ minute: "0", hour: "3" }),
  target: new EcsRunFargateTask(new Cluster(workers, "Cluster", { vpc }), { taskDefinition, input }),
});
