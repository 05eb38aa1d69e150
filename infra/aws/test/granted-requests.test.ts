import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Stack } from "aws-cdk-lib/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LeaseTable } from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { REGION, resourcesOf, strictStack, TABLE_ARN } from "./strict-app.ts";

const ELECTION = "nightly-billing";
const HOUR = `${ELECTION}@2026-11-20T10:00:00Z`;

/** A request that the provider sent, with the fields that IAM uses. */
interface Sent {
  readonly action: string;
  readonly keys: readonly string[];
}

let service: Awaited<ReturnType<typeof startDynalite>>;
let client: DynamoDBClient;
let sent: Sent[] = [];

beforeAll(async () => {
  service = await startDynalite();
  const options = { endpoint: service.url, region: REGION, credentials: { accessKeyId: "any", secretAccessKey: "any" } };
  using direct = { client: new DynamoDBClient(options), [Symbol.dispose]: () => direct.client.destroy() };
  await new DynamoDBLeaseStore({ client: direct.client, tableName: "leases" }).createTable();
  client = new DynamoDBClient(options);
  client.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const { Key } = args.input as { Key?: { election?: { S?: string } } };
        sent.push({ action: `dynamodb:${commandName.replace(/Command$/, "")}`, keys: Key?.election?.S ? [Key.election.S] : [] });
        return await next(args);
      },
    { step: "initialize" },
  );
});

afterAll(async () => {
  client.destroy();
  await service.stop();
});

function statementsFor(verb: "grantCandidate" | "grantObserver" | "grantAdministrator"): Statement[] {
  const stack = strictStack();
  const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN)[verb](role, ELECTION);
  return statementsOf(stack);
}

function statementsOf(stack: Stack): Statement[] {
  const policies = resourcesOf<{ PolicyDocument: { Statement: Statement[] } }>(stack, "AWS::IAM::Policy");
  return policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
}

/** Runs a piece of work. Returns the requests that these statements deny, and the actions that it used. */
async function tried(
  statements: readonly Statement[],
  work: () => Promise<unknown>,
): Promise<{ denied: Sent[]; used: Set<string> }> {
  sent = [];
  await work();
  const denied = sent.filter(({ action, keys }) => {
    const context: Record<string, readonly string[]> = keys.length > 0 ? { "dynamodb:LeadingKeys": keys } : {};
    return !allows(statements, { action, resource: TABLE_ARN, context });
  });
  return { denied, used: new Set(sent.map(({ action }) => action)) };
}

test("a candidate is granted what the provider sends, and nothing else", async () => {
  const statements = statementsFor("grantCandidate");
  const store = new DynamoDBLeaseStore({ client, tableName: "leases" });
  const { denied, used } = await tried(statements, async () => {
    await store.check({ election: ELECTION });
    await new Elector({ store, election: ELECTION }).tryRun(async (leadership) => {
      await leadership.publish("here");
      // DynamoDB treats the entry of a transaction as a request of this name.
      expect(Object.keys(store.fence(leadership))).toEqual(["ConditionCheck"]);
    });
    const occurrences = store.occurrences(ELECTION, { retentionMs: 86_400_000 });
    await new Elector({ store: occurrences, election: HOUR }).tryRun(() => {});
  });
  expect(denied).toEqual([]);
  const granted = new Set(statements.flatMap(({ Action }) => Action));
  expect(used.add("dynamodb:ConditionCheckItem")).toEqual(granted);
});

test("an observer is granted what reading sends, and nothing else", async () => {
  const statements = statementsFor("grantObserver");
  const { denied, used } = await tried(statements, async () => {
    await new DynamoDBLeaseStore({ client, tableName: "leases" }).read(ELECTION);
  });
  expect(denied).toEqual([]);
  expect(used).toEqual(new Set(statements.flatMap(({ Action }) => Action)));
});

test("an operator is granted what a list sends, and reads alone", async () => {
  const stack = strictStack();
  const role = new Role(stack, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN).grantOperator(role);
  const statements = statementsOf(stack);
  const { denied, used } = await tried(statements, async () => {
    await Array.fromAsync(new DynamoDBLeaseStore({ client, tableName: "leases" }).list());
  });
  expect(denied).toEqual([]);
  expect(used).toEqual(new Set(["dynamodb:Scan"]));
  expect(statements.flatMap(({ Action }) => Action)).toEqual(["dynamodb:GetItem", "dynamodb:Scan"]);
  for (const verb of ["grantCandidate", "grantObserver", "grantAdministrator"] as const) {
    expect(JSON.stringify(statementsFor(verb))).not.toContain("Scan");
  }
});

test("an administrator is granted what breaking and transferring send", async () => {
  const { denied, used } = await tried(statementsFor("grantAdministrator"), async () => {
    const store = new DynamoDBLeaseStore({ client, tableName: "leases" });
    const held = await new Elector({ store, election: ELECTION }).tryCampaign();
    await store.break(ELECTION, { reason: "a trial" });
    await held?.[Symbol.asyncDispose]();
  });
  expect(denied).toEqual([]);
  expect(used).toContain("dynamodb:UpdateItem");
});
