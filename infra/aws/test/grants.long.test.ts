import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { MultiRegionConsistency, TableEncryptionV2 } from "aws-cdk-lib/aws-dynamodb";
import { Fn, type Stack } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { LeaseTable, type ILeaseTable, type LeaseTableProps } from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { resourcesOf, strictStack, TABLE_ARN } from "./strict-app.ts";

type Verb = "grantCandidate" | "grantObserver" | "grantAdministrator";

const OWN = ["nightly-billing", "hourly-report"];
const READS = ["dynamodb:GetItem"];
const WRITES = ["dynamodb:UpdateItem"];
const FENCES = ["dynamodb:ConditionCheckItem"];
/** A put replaces the whole item. */
const PUTS = ["dynamodb:PutItem"];
const DELETES = ["dynamodb:DeleteItem", "dynamodb:DeleteTable", "dynamodb:PurgeTable"];
const LISTS = ["dynamodb:Scan", "dynamodb:Query", "dynamodb:PartiQLSelect", "dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"];
const CHANGES = [
  "dynamodb:UpdateTable",
  "dynamodb:UpdateTimeToLive",
  "dynamodb:CreateGlobalTable",
  "dynamodb:CreateTableReplica",
  "dynamodb:UpdateContinuousBackups",
  "dynamodb:RestoreTableFromBackup",
  "dynamodb:PutResourcePolicy",
];

/** Returns the rights of a role after a grant on a table. */
function granted(
  verb: Verb,
  elections: string[],
  props: LeaseTableProps = {},
): { may: (action: string, ...keys: string[]) => boolean; statements: Statement[]; stack: Stack; table: ILeaseTable } {
  const stack = strictStack({ env: { account: "123456789012", region: "eu-west-1" } });
  const table = new LeaseTable(stack, "Leases", props);
  const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  table[verb](role, ...elections).assertSuccess();
  const statements = statementsOf(stack);
  const resource: unknown = stack.resolve(table.tableArn);
  const may = (action: string, ...keys: string[]): boolean =>
    allows(statements, { action, resource, context: keys.length > 0 ? { "dynamodb:LeadingKeys": keys } : {} });
  return { may, statements, stack, table };
}

function statementsOf(stack: Stack): Statement[] {
  const policies = resourcesOf<{ PolicyDocument: { Statement: Statement[] } }>(stack, "AWS::IAM::Policy");
  return policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
}

/** Returns the allowed ones of these actions. */
function allowed(may: (action: string, ...keys: string[]) => boolean, actions: readonly string[], ...keys: string[]): string[] {
  return actions.filter((action) => may(action, ...keys));
}

const EVERYTHING = [...READS, ...WRITES, ...FENCES, ...PUTS, ...DELETES, ...LISTS, ...CHANGES];

describe("a candidate", () => {
  const { may } = granted("grantCandidate", OWN);

  // IAM sees only the leading key of an item. The lease and the occurrences have the same one.
  test.each(OWN)("reads, writes and fences the lease and the occurrences of %s, and does nothing else", (election) => {
    expect(allowed(may, EVERYTHING, election)).toEqual([...READS, ...WRITES, ...FENCES]);
  });

  test.each(["other", "nightly-billing2", "nightly", "NIGHTLY-BILLING", "nightly-billin?", "*", ""])(
    "has no rights in the election %j",
    (election) => {
      expect(allowed(may, EVERYTHING, election)).toEqual([]);
    },
  );

  test("may not reach another election along with its own", () => {
    expect(allowed(may, EVERYTHING, "nightly-billing", "other")).toEqual([]);
    expect(allowed(may, EVERYTHING, ...OWN)).toEqual([...READS, ...WRITES, ...FENCES]);
  });

  test("may do nothing that names no key", () => {
    expect(allowed(may, EVERYTHING)).toEqual([]);
  });

  test("may read what kind of table it is", () => {
    expect(may("dynamodb:DescribeTable")).toBe(true);
  });

  test("may do nothing to another table", () => {
    const { statements } = granted("grantCandidate", OWN);
    const context = { "dynamodb:LeadingKeys": ["nightly-billing"] };
    for (const action of [...EVERYTHING, "dynamodb:DescribeTable"]) {
      expect(allows(statements, { action, resource: "arn:aws:dynamodb:eu-west-1:123456789012:table/other", context })).toBe(
        false,
      );
    }
  });

  test("gets no rights by a wildcard", () => {
    const { statements } = granted("grantCandidate", OWN);
    expect(JSON.stringify(statements)).not.toContain("*");
  });
});

test("without the condition on Null, a request without keys would be allowed", () => {
  const { statements, stack, table } = granted("grantAdministrator", OWN);
  const resource: unknown = stack.resolve(table.tableArn);
  const scan = { action: "dynamodb:Query", resource };
  expect(allows(statements, scan)).toBe(false);

  const trusting = statements.map((statement) => {
    const { Null: _, ...Condition } = statement.Condition ?? {};
    return { ...statement, Condition };
  });
  expect(allows(trusting, scan)).toBe(true);
});

describe("an observer", () => {
  const { may } = granted("grantObserver", OWN);

  test.each(OWN)("reads %s and does nothing else", (election) => {
    expect(allowed(may, EVERYTHING, election)).toEqual(READS);
  });

  test("reads nothing else, and nothing without a key", () => {
    expect(allowed(may, EVERYTHING, "other")).toEqual([]);
    expect(allowed(may, EVERYTHING)).toEqual([]);
  });
});

describe("an administrator", () => {
  const { may } = granted("grantAdministrator", OWN);

  test.each(OWN)("may do every operation on the items of %s", (election) => {
    expect(allowed(may, EVERYTHING, election)).toEqual([...READS, ...WRITES, ...FENCES, "dynamodb:DeleteItem", "dynamodb:Query"]);
  });

  test("of one election has no rights in another, or on the table", () => {
    expect(allowed(may, EVERYTHING, "other")).toEqual([]);
    expect(allowed(may, EVERYTHING)).toEqual([]);
  });
});

describe.each<Verb>(["grantCandidate", "grantObserver", "grantAdministrator"])("%s", (verb) => {
  test("is an error without an election", () => {
    expect(() => granted(verb, [])).toThrow(`${verb} needs the name of one election at least`);
  });

  test("is an error for a name that no election can have", () => {
    expect(() => granted(verb, [""])).toThrow(/election/);
    expect(() => granted(verb, ["a\nb"])).toThrow(/election/);
  });

  test("compares the names of elections exactly", () => {
    const names = ["*", "a?c", "${aws:username}", "${$}", "夜"];
    const { may } = granted(verb, names);
    for (const name of names) expect(may("dynamodb:GetItem", name)).toBe(true);
    for (const other of ["anything", "abc", "root", "$", ""]) expect(may("dynamodb:GetItem", other)).toBe(false);
  });

  test("accepts a name that is known only at deployment", () => {
    const stack = strictStack();
    const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    new LeaseTable(stack, "Leases")[verb](role, Fn.importValue("Election"));
    const [statement] = statementsOf(stack);
    expect(statement?.Condition?.["ForAllValues:StringEquals"]).toEqual({
      "dynamodb:LeadingKeys": [{ "Fn::ImportValue": "Election" }],
    });
  });

  test("works for a table that was made elsewhere", () => {
    const stack = strictStack();
    const table = LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN);
    const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    table[verb](role, "nightly-billing");
    const resource: unknown = stack.resolve(table.tableArn);
    expect(JSON.stringify(resource)).toContain(":table/leases");
    const request = { action: "dynamodb:GetItem", resource };
    expect(allows(statementsOf(stack), { ...request, context: { "dynamodb:LeadingKeys": ["nightly-billing"] } })).toBe(true);
    expect(allows(statementsOf(stack), { ...request, context: { "dynamodb:LeadingKeys": ["other"] } })).toBe(false);
  });
});

describe("a key of the customer's own", () => {
  const READ = ["kms:Decrypt", "kms:DescribeKey"];
  const WRITE = [...READ, "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"];
  const REPLICA_KEYS = {
    "eu-west-3": "arn:aws:kms:eu-west-3:123456789012:key/1",
    "eu-central-1": "arn:aws:kms:eu-central-1:123456789012:key/2",
  };
  type Make = (stack: Stack, key: Key) => ILeaseTable;
  const made: Make = (stack, key) => new LeaseTable(stack, "Leases", { encryption: TableEncryptionV2.customerManagedKey(key) });
  const madeInThree: Make = (stack, key) =>
    new LeaseTable(stack, "Leases", {
      replicaRegions: Object.keys(REPLICA_KEYS),
      multiRegionConsistency: MultiRegionConsistency.STRONG,
      encryption: TableEncryptionV2.customerManagedKey(key, REPLICA_KEYS),
    });
  const imported: Make = (stack, encryptionKey) =>
    LeaseTable.fromTableAttributes(stack, "Leases", {
      tableArn: "arn:aws:dynamodb:eu-west-1:123456789012:table/leases",
      encryptionKey,
      replicaRegions: Object.keys(REPLICA_KEYS),
    });

  /** Returns the actions that are allowed on keys, and the ARNs of the keys that are given by an ARN. */
  function keysOf(verb: Verb, make: Make): { actions: string[]; arns: string[] } {
    const stack = strictStack({ env: { account: "123456789012", region: "eu-west-1" } });
    const table = make(stack, new Key(stack, "Key", { enableKeyRotation: true }));
    table[verb](new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }), "nightly-billing");
    const statements = statementsOf(stack).filter(({ Action }) => JSON.stringify(Action).includes("kms:"));
    const arns = statements.flatMap(({ Resource }) => Resource).filter((arn) => typeof arn === "string");
    return { actions: [...new Set(statements.flatMap(({ Action }) => Action))].toSorted(), arns: arns.toSorted() };
  }

  test.each([
    ["made here", made, []],
    ["made here, in three regions", madeInThree, Object.values(REPLICA_KEYS).toSorted()],
    ["made elsewhere, in three regions", imported, []],
  ])(
    "is granted along with a table that was %s, as far as the key is known, and to an observer only for reading",
    (_, make, arns) => {
      expect(keysOf("grantObserver", make)).toEqual({ actions: READ, arns });
      expect(keysOf("grantCandidate", make)).toEqual({ actions: WRITE.toSorted(), arns });
      expect(keysOf("grantAdministrator", make)).toEqual({ actions: WRITE.toSorted(), arns });
    },
  );
});

test("the grant covers replicas in their regions", () => {
  const { statements } = granted("grantCandidate", OWN, {
    replicaRegions: ["eu-west-3", "eu-central-1"],
    multiRegionConsistency: MultiRegionConsistency.STRONG,
  });
  const resources = JSON.stringify(statements[0]?.Resource);
  for (const region of ["eu-west-3", "eu-central-1"]) expect(resources).toContain(`:dynamodb:${region}:123456789012:table/`);
});
