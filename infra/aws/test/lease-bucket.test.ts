import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import type { ObjectRequest } from "@leasehold/test-kit/object-server/messages";
import { BUCKET, startObjectServer } from "@leasehold/test-kit/object-server/server";
import { compete, objectClient } from "@leasehold/test-kit/stores/objects";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Template } from "aws-cdk-lib/assertions";
import { Fn, RemovalPolicy, Stack } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { LeaseBucket } from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { nagFindings, onlyOf, REGION, resourcesOf, strictApp, strictStack, warningsOf } from "./strict-app.ts";

const ELECTION = "ü / *";

type Verb = "grantCandidate" | "grantObserver";

/** Returns the statements of a grant. Resources are keys; the bucket itself is "". */
function granted(verb: Verb, ...elections: string[]): Statement[] {
  const stack = strictStack();
  const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  new LeaseBucket(stack, "Leases")[verb](role, ...elections).assertSuccess();
  const policies = resourcesOf<{ PolicyDocument: { Statement: Statement[] } }>(stack, "AWS::IAM::Policy");
  return policies
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .map((statement) => ({ ...statement, Resource: [statement.Resource].flat().map(keyOf) }));
}

function keyOf(arn: unknown): string {
  const { "Fn::Join": joined } = arn as { "Fn::Join"?: readonly [unknown, readonly [unknown, string]] };
  return joined?.[1][1].slice(1) ?? "";
}

/** Returns the action that S3 checks for a request, and the key that it concerns. */
function actionOf({ method, target }: ObjectRequest): { action: string; resource: string } {
  const { pathname, searchParams } = new URL(target, "http://s3");
  const resource = decodeURIComponent(pathname.slice(`/${BUCKET}/`.length));
  if (searchParams.has("lifecycle")) return { action: "s3:GetLifecycleConfiguration", resource };
  if (searchParams.has("versioning")) return { action: "s3:GetBucketVersioning", resource };
  if (resource === "") return { action: "s3:ListBucket", resource };
  return { action: { GET: "s3:GetObject", PUT: "s3:PutObject" }[method] ?? `s3:${method}`, resource };
}

/** Reports whether the statements allow a request. The evaluator knows no wildcard, so an occurrence becomes its pattern. */
function isAllowed(statements: readonly Statement[], request: ObjectRequest): boolean {
  const { action, resource } = actionOf(request);
  const pattern = resource.replace(/^(leasehold\/ticks\/[^/]+\/).+$/, "$1*");
  return statements.some((each) =>
    [each.Resource].flat().some((Resource) => allows([{ ...each, Resource }], { action, resource: pattern })),
  );
}

async function requestsOf(work: (store: ObjectStorageLeaseStore) => Promise<void>): Promise<ObjectRequest[]> {
  await using server = await startObjectServer({ protocol: "s3" });
  const requests: ObjectRequest[] = [];
  server.intercept = (request) => void requests.push(request);
  await work(new ObjectStorageLeaseStore({ client: objectClient("s3", server.url), bucket: BUCKET }));
  return requests;
}

describe("a candidate", () => {
  test("is granted what the store sends, and no other action", async () => {
    const statements = granted("grantCandidate", ELECTION);
    const requests = await requestsOf((store) => compete(store, ELECTION));
    expect(requests.filter((request) => !isAllowed(statements, request)).map(actionOf)).toEqual([]);
    // S3 checks the right to list where an object is missing.
    const used = new Set([...requests.map((request) => actionOf(request).action), "s3:ListBucket"]);
    expect(used).toEqual(new Set(statements.flatMap(({ Action }) => Action)));
  });

  test("is not granted another election, or a delete", async () => {
    const requests = (await requestsOf((store) => compete(store, ELECTION))).filter(({ target }) =>
      target.includes("%25C3%25BC"),
    );
    expect(requests.length).toBeGreaterThan(4);
    const statements = granted("grantCandidate", "other");
    expect(requests.filter((request) => isAllowed(statements, request))).toEqual([]);
    expect(JSON.stringify(statements)).not.toMatch(/Delete|"s3:\*"/);
  });
});

test("an observer is granted reads of its elections alone", async () => {
  const statements = granted("grantObserver", ELECTION);
  const requests = await requestsOf(async (store) => void (await store.read(ELECTION)));
  expect(requests.map((request) => isAllowed(statements, request))).toEqual([true]);
  expect(JSON.stringify(statements)).not.toContain("Put");
});

test.each<Verb>(["grantCandidate", "grantObserver"])("%s needs names that are known at synthesis", (verb) => {
  expect(() => granted(verb)).toThrow(`${verb} needs the name of one election at least`);
  expect(() => granted(verb, Fn.importValue("Election"))).toThrow("names that are known at synthesis");
});

describe("a bucket per region, and so a leader per region,", () => {
  test("is an error if the same stack is made for each", () => {
    const app = strictApp();
    const stacks = [REGION, "eu-west-1"].map((region) => {
      const stack = new Stack(app, `In-${region}`, { env: { region } });
      const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
      new LeaseBucket(stack, "Leases").grantCandidate(role, ELECTION);
      return stack;
    });
    for (const stack of stacks)
      expect(() => Template.fromStack(stack)).toThrow(/is held by In-.*each region would have a leader/s);
  });

  test("is an error if the stack has no region of its own", () => {
    expect(() => new LeaseBucket(strictStack({}), "Leases")).toThrow(/has no region.*env: \{ region:/s);
  });
});

describe("the bucket", () => {
  test("is private, encrypted, kept, and without versions or rules", () => {
    const stack = strictStack();
    const { url } = new LeaseBucket(stack, "Leases", { bucketName: "acme-leases" });
    const bucket = { Ref: expect.stringMatching(/^Leases/) };
    expect(stack.resolve(url)).toEqual({ "Fn::Join": ["", ["s3://", bucket, "/leasehold/?region=eu-central-1"]] });
    const { Properties, DeletionPolicy } = onlyOf(stack, "AWS::S3::Bucket");
    expect(DeletionPolicy).toBe("Retain");
    expect(Object.keys(Properties).toSorted()).toEqual([
      ...["BucketEncryption", "BucketName", "OwnershipControls", "PublicAccessBlockConfiguration"],
    ]);
    expect(nagFindings(stack)).toEqual([]);
    expect(warningsOf(stack)).toEqual([]);
  });

  test("has no rule but the one for occurrences", () => {
    const stack = strictStack();
    new LeaseBucket(stack, "Leases", { deleteOccurrencesAfterDays: 8 });
    expect(onlyOf(stack, "AWS::S3::Bucket").Properties["LifecycleConfiguration"]).toEqual({
      Rules: [{ ExpirationInDays: 8, Prefix: "leasehold/ticks/", Status: "Enabled" }],
    });
  });

  test("warns if it is deleted with its stack", () => {
    const stack = strictStack();
    new LeaseBucket(stack, "Leases", { removalPolicy: RemovalPolicy.DESTROY });
    expect(warningsOf(stack)).toEqual([expect.stringContaining("begin again at 1")]);
  });
});
