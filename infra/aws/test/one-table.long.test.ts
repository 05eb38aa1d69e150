import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import { Template } from "aws-cdk-lib/assertions";
import { MultiRegionConsistency } from "aws-cdk-lib/aws-dynamodb";
import { Vpc } from "aws-cdk-lib/aws-ec2";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Aws, Fn, Stack, Stage, type StackProps } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import { describe, expect, test } from "vitest";
import { CandidateService, LeaseTable, type ILeaseTable } from "../src/index.ts";
import { onlyOf, strictApp, strictStack, TABLE_ARN } from "./strict-app.ts";

const ELECTION = "nightly-billing";
const [HERE, THERE] = ["eu-central-1", "eu-west-1"];

function compete(stack: Stack, table: ILeaseTable): void {
  table.grantCandidate(new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }), ELECTION);
}

/** A common first setup for two regions: the same stack in each. */
class Everything extends Stack {
  constructor(scope: Construct, id: string, props: StackProps, table?: (stack: Stack) => ILeaseTable) {
    super(scope, id, props);
    compete(this, table?.(this) ?? new LeaseTable(this, "Leases"));
  }
}

function synthesize(stack: Stack): void {
  Template.fromStack(stack);
}

describe("a table per region, and so a leader per region,", () => {
  test("is an error if the same stack is made for each", () => {
    const app = strictApp();
    const stacks = [HERE, THERE].map((region) => new Everything(app, `In-${region}`, { env: { region } }));
    for (const stack of stacks) {
      expect(() => synthesize(stack)).toThrow(/'nightly-billing' is held by In-.*each region would have a leader/s);
    }
  });

  test("is an error if each stack takes the table of its own region by an ARN", () => {
    const app = strictApp();
    const own = (stack: Stack): ILeaseTable =>
      LeaseTable.fromTableArn(stack, "Leases", `arn:aws:dynamodb:${stack.region}:123456789012:table/leases`);
    const [first] = [HERE, THERE].map((region) => new Everything(app, `In-${region}`, { env: { region } }, own));
    expect(() => synthesize(first as Stack)).toThrow(/a leader of its own/);
  });

  test("is an error if the stack has no region of its own", () => {
    expect(() => new LeaseTable(strictStack({}), "Leases")).toThrow(/has no region.*env: \{ region:/s);
    const ownRegion = `arn:aws:dynamodb:${Aws.REGION}:${Aws.ACCOUNT_ID}:table/leases`;
    expect(() => LeaseTable.fromTableArn(strictStack({}), "Leases", ownRegion)).toThrow(/Spell out the region/);
  });

  test("is allowed in another stage, and in another account", () => {
    const app = strictApp();
    const production = new Everything(new Stage(app, "Production"), "Leases", { env: { region: HERE } });
    new Everything(new Stage(app, "Trial"), "Leases", { env: { region: THERE } });
    synthesize(production);
    const accounts = strictApp();
    const one = new Everything(accounts, "One", { env: { region: HERE, account: "123456789012" } });
    new Everything(accounts, "Other", { env: { region: THERE, account: "210987654321" } });
    synthesize(one);
  });
});

describe("one table for two regions", () => {
  test("is taken by its ARN: candidates elsewhere get its region, and the rights there", () => {
    const stack = new Stack(strictApp(), "Elsewhere", { env: { region: THERE } });
    const table = LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN);
    serve(stack, table);
    compete(stack, table);
    expect(environmentOf(stack)).toMatchObject({ LEASE_TABLE: "leases", LEASE_TABLE_REGION: HERE });
    expect(JSON.stringify(Template.fromStack(stack).findResources("AWS::IAM::Policy"))).toContain(TABLE_ARN);
  });

  test("may be passed to another region's stack if it has a name of its own", () => {
    const app = strictApp();
    const table = new LeaseTable(new Stack(app, "Leases", { env: { region: HERE, account: "123456789012" } }), "Leases", {
      tableName: "leases",
    });
    const stack = new Stack(app, "Elsewhere", { env: { region: THERE, account: "123456789012" } });
    serve(stack, table);
    expect(environmentOf(stack)).toMatchObject({ LEASE_TABLE: "leases", LEASE_TABLE_REGION: HERE });
  });

  test("is an error if its name is not known in the other stack", () => {
    const app = strictApp();
    const table = new LeaseTable(new Stack(app, "Leases", { env: { region: HERE } }), "Leases");
    const elsewhere = new Stack(app, "Elsewhere", { env: { region: THERE } });
    expect(() => serve(elsewhere, table)).toThrow(/Leases is in eu-central-1.*fromTableArn/s);
    const nowhere = new Stack(app, "Nowhere");
    expect(() => serve(nowhere, table)).toThrow(/Give this stack the same env.region/);
  });

  test("may be a strongly consistent one, used in each region by its replica there", () => {
    const app = strictApp();
    const home = new Stack(app, "Home", { env: { region: HERE } });
    const replicaRegions = [THERE, "eu-west-2"];
    const multiRegionConsistency = MultiRegionConsistency.STRONG;
    compete(home, new LeaseTable(home, "Leases", { replicaRegions, multiRegionConsistency, tableName: "leases" }));
    const away = new Stack(app, "Away", { env: { region: THERE } });
    compete(away, LeaseTable.fromTableArn(away, "Leases", TABLE_ARN.replace(HERE, THERE)));
    synthesize(away);
    synthesize(home);
  });
});

describe("a table's ARN", () => {
  test.each([
    "leases",
    "arn:aws:dynamodb:eu-central-1:123456789012:leases",
    "arn:aws:dynamodb::1:table/leases",
    "arn:aws:s3:::t",
  ])("is not %j", (arn) => {
    expect(() => LeaseTable.fromTableArn(strictStack(), "Leases", arn)).toThrow("is no table's ARN");
  });

  test("may be known only when it is deployed", () => {
    const stack = strictStack({});
    const table = LeaseTable.fromTableArn(stack, "Leases", Fn.importValue("LeaseTableArn"));
    expect(JSON.stringify(stack.resolve([table.region, table.tableName]))).toContain("LeaseTableArn");
  });
});

function serve(stack: Stack, table: ILeaseTable): void {
  const vpc = new Vpc(stack, "Network", { maxAzs: 2, natGateways: 1 });
  const image = ContainerImage.fromRegistry("example");
  new CandidateService(stack, "Candidates", { table, election: ELECTION, image, vpc });
}

function environmentOf(stack: Stack): Record<string, unknown> {
  const { Properties } = onlyOf<{
    ContainerDefinitions: [{ Environment: { Name: string; Value: unknown }[] }];
  }>(stack, "AWS::ECS::TaskDefinition");
  return Object.fromEntries(Properties.ContainerDefinitions[0].Environment.map(({ Name, Value }) => [Name, Value]));
}
