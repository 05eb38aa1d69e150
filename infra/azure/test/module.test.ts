import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { comparableResources, findArgumentFaults, hasTerraform, resourcesOfHcl } from "@leasehold/test-kit/terrain";
import { Testing } from "cdktn";
import { expect, onTestFinished, test } from "vitest";
import { azurerm } from "./azurerm-facts.ts";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

const folder = fileURLToPath(new URL("../terraform/", import.meta.url));
const module = resourcesOfHcl(await readFile(join(folder, "main.tf"), "utf8"));

test("the module makes the same resources as the construct, with the same settings", () => {
  const stack = emptyStack();
  const leases = leasesIn(stack, {
    resourceGroup: {
      id: "${var.resource_group.id}",
      name: "${var.resource_group.name}",
      location: "${var.resource_group.location}",
    },
    accountName: "acmeleases",
  });
  leases.grantCandidate({ principalId: "${each.value.principal_id}" }, "billing");
  const { resource } = JSON.parse(Testing.synth(stack)) as { resource: typeof module };
  const given = JSON.parse(
    JSON.stringify(module)
      .replaceAll("${var.account_name}", "acmeleases")
      .replaceAll("${local.blobs}", "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"),
  ) as typeof module;
  expect(comparableResources(given, "condition")).toEqual(comparableResources(resource, "condition"));
});

test("the module has no argument that the provider would refuse", () => {
  const faults = findArgumentFaults({ resource: module }, azurerm);
  expect(faults.filter((fault) => !/^\$\{(?:var|each|local)\./.test(fault) && !fault.includes("no such variable"))).toEqual([]);
});

// Without a provider terraform needs no network.
test.skipIf(!hasTerraform())("a candidate's condition is the construct's (skipped where terraform is not installed)", () => {
  const stack = emptyStack();
  leasesIn(stack).grantCandidate({ principalId: "id" }, "billing", "nightly-report");
  const [{ condition } = {}] = synthesized(stack).of("azurerm_role_assignment");
  const alone = mkdtempSync(join(tmpdir(), "leasehold-module-"));
  onTestFinished(() => rmSync(alone, { recursive: true }));
  copyFileSync(join(folder, "variables.tf"), join(alone, "variables.tf"));
  const values = {
    resource_group: { id: "g", name: "g", location: "l" },
    account_name: "acmeleases",
    candidates: { one: { principal_id: "id", elections: ["billing", "nightly-report"] } },
  };
  writeFileSync(join(alone, "terraform.tfvars.json"), JSON.stringify(values));
  const { stdout, stderr } = spawnSync("terraform", ["console"], {
    cwd: alone,
    input: "jsonencode(local.conditions)\n",
    encoding: "utf8",
  });
  expect(stdout, stderr).toMatch(/^"/);
  const evaluated = JSON.parse(JSON.parse(stdout) as string) as Record<string, string>;
  expect(evaluated["one"]).toBe(condition);
});
