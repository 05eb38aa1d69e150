import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { App, Stack } from "aws-cdk-lib/core";
import { expect, onTestFinished, test } from "vitest";
import { functionBundling, REQUIRE_BANNER } from "../src/bundling.ts";
import { LeaderScheduledFunction, LeaseTable } from "../src/index.ts";

/** Makes a checkout with a program that uses a CommonJS package, which requires a module of Node. */
function checkout(): string {
  const parent = fileURLToPath(new URL("../../../node_modules/.cache/leasehold-infra-aws", import.meta.url));
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "leasehold-bundling-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "node_modules/driver"), { recursive: true });
  writeFileSync(join(folder, "node_modules/driver/package.json"), '{ "main": "index.js" }');
  writeFileSync(join(folder, "node_modules/driver/index.js"), 'module.exports = typeof require("events").once;\n');
  writeFileSync(
    join(folder, "program.ts"),
    'import driver from "driver";\nconsole.log(driver);\nexport const handler = (): void => {};\n',
  );
  return folder;
}

test("a function's bundle loads CommonJS packages that require a module of Node", () => {
  const folder = checkout();
  const app = new App({ outdir: join(folder, "cdk.out") });
  const stack = new Stack(app, "Reports", { env: { region: "eu-central-1" } });
  new LeaderScheduledFunction(stack, "Report", {
    table: new LeaseTable(stack, "Leases"),
    election: "report",
    schedule: ScheduleExpression.cron({ minute: "0" }),
    entry: join(folder, "program.ts"),
  });
  app.synth();
  const [asset = ""] = readdirSync(join(folder, "cdk.out")).filter((name) => name.startsWith("asset."));
  expect(execFileSync(nodeExecutable(), [join(folder, "cdk.out", asset, "index.mjs")], { encoding: "utf8" })).toBe("function\n");
});

test("a function's bundle keeps the user's banner, and has none of its own as CommonJS", () => {
  expect(functionBundling({ banner: "/* ours */" }).banner).toBe(`${REQUIRE_BANNER}\n/* ours */`);
  expect(functionBundling({ format: OutputFormat.CJS, banner: "/* ours */" }).banner).toBe("/* ours */");
  expect(functionBundling({ format: OutputFormat.CJS })).not.toHaveProperty("banner");
});
