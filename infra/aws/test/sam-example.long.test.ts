import { readFile } from "node:fs/promises";
import { LeaseTable, OCCURRENCE_TTL_ATTRIBUTE } from "@leasehold/infra-aws";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { allows, type Statement } from "./iam-evaluator.ts";
import { onlyOf, resourcesOf, strictStack, TABLE_ARN } from "./strict-app.ts";

interface Template {
  readonly Parameters: Readonly<Record<string, { readonly Default?: string }>>;
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties: Record<string, unknown> }>>;
}

async function template(name: string): Promise<Template> {
  const text = await readFile(new URL(`../../../examples/aws-lambda/${name}`, import.meta.url), "utf8");
  // Functions of CloudFormation stay as their texts.
  return parse(text, { logLevel: "error" }) as Template;
}

const { Parameters, Resources } = await template("template.yaml");
const report = Resources["HourlyReport"]?.Properties as {
  readonly Timeout: number;
  readonly Environment: { readonly Variables: Readonly<Record<string, string>> };
  readonly Events: { readonly EveryHour: { readonly Properties: { readonly Schedule: string } } };
  readonly EventInvokeConfig: object;
  readonly Policies: readonly [{ readonly Statement: readonly Statement[] }];
};

test("the example requires the region of the one table as a parameter", async () => {
  for (const name of ["template.yaml", "table.yaml"]) {
    expect((await template(name)).Parameters["LeaseTableRegion"]).not.toHaveProperty("Default");
  }
  expect(Parameters).toHaveProperty("LeaseTable.Default");
  expect(report.Environment.Variables).toMatchObject({
    LEASE_TABLE_REGION: "LeaseTableRegion",
    NODE_OPTIONS: "--enable-source-maps",
  });
});

test("its function has the same rights to the leases as the construct's, in the table's region", () => {
  const stack = strictStack();
  LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN).grantCandidate(
    new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }),
    "hourly-report",
  );
  const [policy] = resourcesOf<{ PolicyDocument: { Statement: Statement[] } }>(stack, "AWS::IAM::Policy");
  const granted = policy?.Properties.PolicyDocument.Statement ?? [];
  const leases = "arn:${AWS::Partition}:dynamodb:${LeaseTableRegion}:${AWS::AccountId}:table/${LeaseTable}";
  const actions = [
    ...new Set(granted.flatMap(({ Action }) => Action)),
    "dynamodb:PutItem",
    "dynamodb:DeleteItem",
    "dynamodb:Scan",
  ];
  for (const [action, election] of actions.flatMap((each) => ["hourly-report", "other"].map((name) => [each, name] as const))) {
    const context = { "dynamodb:LeadingKeys": [election] };
    const isGranted = allows(granted, { action, resource: TABLE_ARN, context });
    expect(allows(report.Policies[0].Statement, { action, resource: leases, context }), `${action} of ${election}`).toBe(
      isGranted,
    );
  }
});

test("its attempts last longer than the lease, as the construct's do, and failures go to the dead-letter queue", () => {
  expect(report.Timeout).toBe(60);
  expect(report.EventInvokeConfig).toMatchObject({
    MaximumRetryAttempts: 2,
    MaximumEventAgeInSeconds: 3600,
    DestinationConfig: { OnFailure: { Type: "SQS", Destination: "DeadLetters.Arn" } },
  });
  expect(report.Events.EveryHour.Properties.Schedule).toMatch(/^cron\(/);
});

test("its table of leases equals the construct's, except for its name", async () => {
  const stack = strictStack();
  new LeaseTable(stack, "Leases", { occurrenceTtlAttribute: OCCURRENCE_TTL_ATTRIBUTE });
  const { AttributeDefinitions, KeySchema, TimeToLiveSpecification, SSESpecification } = onlyOf(
    stack,
    "AWS::DynamoDB::GlobalTable",
  ).Properties;
  const { Leases } = (await template("table.yaml")).Resources;
  expect(Leases).toMatchObject({
    DeletionPolicy: "Retain",
    UpdateReplacePolicy: "Retain",
    Properties: {
      AttributeDefinitions,
      KeySchema,
      TimeToLiveSpecification,
      SSESpecification,
      Replicas: [{ Region: "LeaseTableRegion", DeletionProtectionEnabled: true }],
    },
  });
});
