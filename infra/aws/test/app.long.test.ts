import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SynthesizedApp } from "./synthesized-app.ts";

const STACKS = ["LeaseholdTable", "LeaseholdCandidates", "LeaseholdSchedule"];

let app: SynthesizedApp;

// It fails for what CloudFormation's validation or cdk-nag find.
beforeAll(async () => {
  app = await SynthesizedApp.synthesize("app");
}, 120_000);

afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

test("it is synthesized without a network, and asks nothing of an account", async () => {
  for (const stack of STACKS) {
    const text = JSON.stringify(await app.template(stack));
    expect(text).not.toContain("dummy");
    expect(text).not.toMatch(/\b\d{12}\b/);
  }
});

test.each(STACKS.slice(1))("%s depends on the table by its stack's outputs alone", async (stack) => {
  const { Resources } = await app.template(stack);
  expect(Object.values(Resources).map(({ Type }) => Type)).not.toContain("AWS::DynamoDB::GlobalTable");
  expect(JSON.stringify(Resources)).toContain('"Fn::ImportValue":"LeaseholdTable:');
});

test("the table keeps occurrences for their retention alone", async () => {
  const { Resources } = await app.template("LeaseholdTable");
  expect(Object.values(Resources)).toMatchObject([
    { Type: "AWS::DynamoDB::GlobalTable", Properties: { TimeToLiveSpecification: { AttributeName: "expiresAt" } } },
  ]);
});

const hasCfnLint = await promisify(execFile)("cfn-lint", ["--version"]).then(
  () => true,
  () => false,
);

test("cfn-lint finds nothing that is not acknowledged in the templates, and those of the example for SAM, where it is installed", async () => {
  const example = ["table", "template"].map((name) =>
    fileURLToPath(new URL(`../../../examples/aws-lambda/${name}.yaml`, import.meta.url)),
  );
  const templates = [...STACKS.map((stack) => app.templatePath(stack)), ...example];
  const lint = (): Promise<unknown> => promisify(execFile)("cfn-lint", ["--non-zero-exit-code", "informational", ...templates]);
  // Not every build can have it.
  if (hasCfnLint) await expect(lint()).resolves.toMatchObject({ stdout: "" });
  else process.stderr.write("NOT CHECKED by cfn-lint, which is not installed: the templates of infra/aws\n");
});
