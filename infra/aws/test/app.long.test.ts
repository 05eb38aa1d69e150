import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SynthesizedApp } from "./synthesized-app.ts";

const STACKS = ["LeaseholdTable", "LeaseholdCandidates", "LeaseholdSchedule"];

let app: SynthesizedApp;

// This fails if CloudFormation's validation or cdk-nag finds a fault.
beforeAll(async () => {
  app = await SynthesizedApp.synthesize("app");
}, 120_000);

afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

test("the app is synthesized without a network or an account", async () => {
  for (const stack of STACKS) {
    const text = JSON.stringify(await app.template(stack));
    expect(text).not.toContain("dummy");
    expect(text).not.toMatch(/\b\d{12}\b/);
  }
});

test.each(STACKS.slice(1))("%s depends on the table only by its stack's outputs", async (stack) => {
  const { Resources } = await app.template(stack);
  expect(Object.values(Resources).map(({ Type }) => Type)).not.toContain("AWS::DynamoDB::GlobalTable");
  expect(JSON.stringify(Resources)).toContain('"Fn::ImportValue":"LeaseholdTable:');
});

test("the table keeps occurrences only for their retention", async () => {
  const { Resources } = await app.template("LeaseholdTable");
  expect(Object.values(Resources)).toMatchObject([
    { Type: "AWS::DynamoDB::GlobalTable", Properties: { TimeToLiveSpecification: { AttributeName: "expiresAt" } } },
  ]);
});

const hasCfnLint = await promisify(execFile)("cfn-lint", ["--version"]).then(
  () => true,
  () => false,
);

test("cfn-lint, if installed, finds only acknowledged faults in the templates and in those of the SAM example", async () => {
  const example = ["table", "template"].map((name) =>
    fileURLToPath(new URL(`../../../examples/aws-lambda/${name}.yaml`, import.meta.url)),
  );
  const templates = [...STACKS.map((stack) => app.templatePath(stack)), ...example];
  const lint = (): Promise<unknown> => promisify(execFile)("cfn-lint", ["--non-zero-exit-code", "informational", ...templates]);
  // cfn-lint is not installed everywhere.
  if (hasCfnLint) await expect(lint()).resolves.toMatchObject({ stdout: "" });
  else process.stderr.write("NOT CHECKED by cfn-lint, which is not installed: the templates of infra/aws\n");
});
