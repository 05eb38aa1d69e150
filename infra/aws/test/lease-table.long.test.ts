import { MultiRegionConsistency, type CfnGlobalTable, type TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { LEASE_RECORD_FIELDS } from "@leasehold/core/provider";
import { Template } from "aws-cdk-lib/assertions";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { RemovalPolicy, type Stack } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { LeaseTable, OCCURRENCE_TTL_ATTRIBUTE, TABLE_KEYS, type LeaseTableProps } from "../src/index.ts";
import { nagFindings, onlyOf, strictStack, warningsOf } from "./strict-app.ts";

const IRELAND = { env: { account: "123456789012", region: "eu-west-1" } };
const { STRONG, EVENTUAL } = MultiRegionConsistency;

function stackWith(props?: LeaseTableProps): Stack {
  const stack = strictStack(IRELAND);
  new LeaseTable(stack, "Leases", props);
  return stack;
}

function cfnTable(table: LeaseTable): CfnGlobalTable {
  return (table.node.findChild("Resource") as TableV2).node.defaultChild as CfnGlobalTable;
}

describe("by default", () => {
  test("the table is on demand, encrypted, recoverable, protected and retained, in one region, without a TTL", () => {
    const { Properties, ...rest } = onlyOf(stackWith(), "AWS::DynamoDB::GlobalTable");

    expect(Properties).toEqual({
      AttributeDefinitions: [
        { AttributeName: "election", AttributeType: "S" },
        { AttributeName: "entry", AttributeType: "S" },
      ],
      KeySchema: [
        { AttributeName: "election", KeyType: "HASH" },
        { AttributeName: "entry", KeyType: "RANGE" },
      ],
      BillingMode: "PAY_PER_REQUEST",
      SSESpecification: { SSEEnabled: true, SSEType: "KMS" },
      Replicas: [
        {
          Region: "eu-west-1",
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 35 },
        },
      ],
    });
    expect(rest).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
  });

  test("there is no warning, and cdk-nag finds nothing", () => {
    const stack = stackWith();
    Template.fromStack(stack);
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });
});

test("CloudFormation's validation is on in these tests", () => {
  const stack = strictStack(IRELAND);
  cfnTable(new LeaseTable(stack, "Leases")).addPropertyOverride("Nonsense", true);
  expect(() => Template.fromStack(stack)).toThrow(/Nonsense|[Vv]alidation/);
});

test("cdk-nag finds faults that are not acknowledged", () => {
  const stack = strictStack();
  new Queue(stack, "Queue");
  expect(nagFindings(stack)).toContainEqual(expect.stringContaining("AwsSolutions-SQS3"));
});

describe("a TTL", () => {
  test("can be on the attribute of occurrences", () => {
    const stack = stackWith({ occurrenceTtlAttribute: OCCURRENCE_TTL_ATTRIBUTE });
    expect(onlyOf(stack, "AWS::DynamoDB::GlobalTable").Properties).toMatchObject({
      TimeToLiveSpecification: { AttributeName: "expiresAt", Enabled: true },
    });
    expect(warningsOf(stack)).toEqual([]);
  });

  const carried = [...LEASE_RECORD_FIELDS, TABLE_KEYS.partition, TABLE_KEYS.sort, "version", "nonceNotBefore", "nonceNotAfter"];

  test("cannot be on an attribute of a lease, because only occurrences have the other one", () => {
    expect(carried).not.toContain(OCCURRENCE_TTL_ATTRIBUTE);
  });

  test.each([...carried, "ttl", "ExpiresAt", ""])("on %j is an error that says why", (occurrenceTtlAttribute) => {
    expect(() => stackWith({ occurrenceTtlAttribute })).toThrow(/'expiresAt' alone.*breaks fencing/s);
  });

  test.each(["nonceNotAfter", "leaseDurationMs"])("on %s is an error even by an escape hatch", (attributeName) => {
    const stack = strictStack(IRELAND);
    cfnTable(new LeaseTable(stack, "Leases")).timeToLiveSpecification = { attributeName, enabled: true };
    expect(() => Template.fromStack(stack)).toThrow(/'expiresAt' alone/);
  });

  test("on another attribute is an error even by an override of the template", () => {
    const stack = strictStack(IRELAND);
    const table = cfnTable(new LeaseTable(stack, "Leases", { occurrenceTtlAttribute: "expiresAt" }));
    table.addPropertyOverride("TimeToLiveSpecification.AttributeName", "term");
    expect(() => Template.fromStack(stack)).toThrow(/'expiresAt' alone/);
  });

  test("is an error with multi-region strong consistency", () => {
    const strong = { replicaRegions: ["eu-west-2", "eu-west-3"], multiRegionConsistency: STRONG };
    expect(() => stackWith({ ...strong, occurrenceTtlAttribute: "expiresAt" })).toThrow(
      /no TTL on tables with multi-region strong/,
    );
    const stack = strictStack(IRELAND);
    cfnTable(new LeaseTable(stack, "Leases", strong)).timeToLiveSpecification = { attributeName: "expiresAt", enabled: true };
    expect(() => Template.fromStack(stack)).toThrow(/no TTL on tables with multi-region strong/);
  });
});

describe("replicas", () => {
  test.each<[string, LeaseTableProps]>([
    ["without a word on consistency", { replicaRegions: ["eu-west-2", "eu-west-3"] }],
    ["that are eventually consistent", { replicaRegions: ["eu-west-2"], multiRegionConsistency: EVENTUAL }],
    ["of a witness alone", { witnessRegion: "eu-west-2" }],
  ])("%s are an error that says why", (_, props) => {
    expect(() => stackWith(props)).toThrow(/conditions on their own copy.*two regions would each elect a leader/s);
  });

  test.each<[string, LeaseTableProps]>([
    ["two regions", { replicaRegions: ["eu-west-2"] }],
    ["four regions", { replicaRegions: ["eu-west-2", "eu-west-3"], witnessRegion: "eu-central-1" }],
    ["two witnesses of none", { witnessRegion: "eu-west-2" }],
  ])("with strong consistency in %s are an error", (_, props) => {
    expect(() => stackWith({ ...props, multiRegionConsistency: STRONG })).toThrow("takes 3 regions");
  });

  test.each<[string, LeaseTableProps]>([
    ["two continents", { replicaRegions: ["eu-west-2", "us-east-1"] }],
    ["a region outside of every set", { replicaRegions: ["eu-west-2", "eu-north-1"] }],
    ["a witness elsewhere", { replicaRegions: ["eu-west-2"], witnessRegion: "us-east-1" }],
  ])("with strong consistency in %s are an error that lists the sets", (_, props) => {
    expect(() => stackWith({ ...props, multiRegionConsistency: STRONG })).toThrow(/among eu-west-1, eu-west-2, .*of one set/);
  });

  test("in the same region twice are an error, as is strong consistency without any", () => {
    expect(() => stackWith({ replicaRegions: ["eu-west-2", "eu-west-2"], multiRegionConsistency: STRONG })).toThrow(
      "named twice",
    );
    expect(() => stackWith({ multiRegionConsistency: STRONG })).toThrow("there is no other region");
  });

  test.each<[string, LeaseTableProps, string[]]>([
    ["two of them", { replicaRegions: ["eu-west-2", "eu-west-3"] }, ["eu-west-2", "eu-west-3", "eu-west-1"]],
    ["one and a witness", { replicaRegions: ["eu-west-2"], witnessRegion: "eu-west-3" }, ["eu-west-2", "eu-west-1"]],
  ])("with strong consistency: %s, all protected and recoverable", (_, props, regions) => {
    const stack = stackWith({ ...props, multiRegionConsistency: STRONG });
    const { Properties } = onlyOf<{ Replicas: { Region: string }[] }>(stack, "AWS::DynamoDB::GlobalTable");
    expect(Properties).toMatchObject({ MultiRegionConsistency: "STRONG" });
    expect(Properties.Replicas.map(({ Region }) => Region).toSorted()).toEqual(regions.toSorted());
    for (const replica of Properties.Replicas) {
      expect(replica).toMatchObject({
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      });
    }
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });

  test("are an error even by an escape hatch", () => {
    const stack = strictStack(IRELAND);
    (new LeaseTable(stack, "Leases").node.findChild("Resource") as TableV2).addReplica({ region: "eu-west-2" });
    expect(() => Template.fromStack(stack)).toThrow(/two regions would each elect a leader/);
  });
});

describe("there is a loud warning", () => {
  test("for a table that is destroyed with its stack", () => {
    const stack = stackWith({ removalPolicy: RemovalPolicy.DESTROY });
    expect(warningsOf(stack)).toEqual([expect.stringMatching(/deleted with its stack.*begin again at 1/s)]);
    expect(onlyOf(stack, "AWS::DynamoDB::GlobalTable")).toMatchObject({ DeletionPolicy: "Delete" });
  });

  test("for a table that can be deleted", () => {
    expect(warningsOf(stackWith({ deletionProtection: false }))).toEqual([expect.stringContaining("deletionProtection: false")]);
  });
});
