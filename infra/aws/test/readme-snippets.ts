/** The first deployments of the READMEs in infra, compiled. */
import { CandidateApp, LeaseContainer } from "@leasehold/infra-azure";
import { CandidateService, ElectionAlarms, LeaseTable } from "../src/index.ts";
import { CandidateWorker, LeaseDatabase } from "@leasehold/infra-gcp";
import { Stack } from "aws-cdk-lib/core";
import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import type { ContainerImage } from "aws-cdk-lib/aws-ecs";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { TerraformStack } from "cdktn";
import type { Construct } from "constructs";

declare const page: IAlarmAction;
declare const website: IGrantable;
declare const dashboards: string;

export class OnAws extends Stack {
  constructor(scope: Construct, image: ContainerImage) {
    super(scope, "OnAws");
    const table = new LeaseTable(this, "Leases", { occurrenceTtlAttribute: "expiresAt" });
    new CandidateService(this, "Workers", { table, election: "nightly-billing", image });
    new ElectionAlarms(this, "Alarms", { election: "nightly-billing", table, actions: [page] });
    table.grantObserver(website, "nightly-billing");
  }
}

type AzureProps = ConstructorParameters<typeof CandidateApp>[2];

export class OnAzure extends TerraformStack {
  constructor(scope: Construct, { resourceGroup, image }: Pick<AzureProps, "resourceGroup" | "image">) {
    super(scope, "OnAzure");
    const leases = new LeaseContainer(this, "Leases", { resourceGroup, accountName: "acmeleases" });
    new CandidateApp(this, "Billing", { leases, elections: ["billing"], resourceGroup, name: "billing", image });
    leases.grantObserver({ principalId: dashboards, principalType: "Group" }, "billing");
  }
}

type GoogleProps = ConstructorParameters<typeof CandidateWorker>[2];

export class OnGoogle extends TerraformStack {
  constructor(scope: Construct, project: string, { location, image }: Pick<GoogleProps, "location" | "image">) {
    super(scope, "OnGoogle");
    const leases = new LeaseDatabase(this, "Leases", { project, location: "europe-west1" });
    new CandidateWorker(this, "Billing", { leases, elections: ["billing"], name: "billing", location, image });
    leases.grantObserver({ member: "group:dashboards@example.com" }, "billing");
  }
}
