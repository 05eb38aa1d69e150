import { readFile } from "node:fs/promises";
import { comparableResources, findArgumentFaults, resourcesOfHcl } from "@leasehold/test-kit/terrain";
import { Testing } from "cdktn";
import { expect, test } from "vitest";
import { google } from "./google-facts.ts";
import { emptyStack, leasesIn } from "./synthesized.ts";

const module = resourcesOfHcl(await readFile(new URL("../terraform/main.tf", import.meta.url), "utf8"));

test("the module makes the same resources as the construct, with the same settings", () => {
  const stack = emptyStack();
  const leases = leasesIn(stack, {
    project: "my-project",
    location: "eur3",
    databaseId: "my-leases",
  });
  leases.grantCandidate({ member: "${each.value}" }, "billing");
  const { resource } = JSON.parse(Testing.synth(stack)) as { resource: typeof module };
  const given = JSON.parse(
    JSON.stringify(module)
      .replace('${replace(var.database_id, \\"-\\", \\"_\\")}', "my_leases")
      .replaceAll("${var.project}", "my-project")
      .replaceAll("${var.location}", "eur3")
      .replaceAll("${var.database_id}", "my-leases"),
  ) as typeof module;
  expect(comparableResources(given)).toEqual(comparableResources(resource));
});

test("the module has no argument that the provider would refuse", () => {
  const faults = findArgumentFaults({ resource: module }, google);
  expect(faults.filter((fault) => !fault.includes("no such variable") && !fault.startsWith("${each."))).toEqual([]);
});
