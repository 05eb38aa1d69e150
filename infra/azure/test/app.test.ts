import {
  findArgumentFaults,
  hasTerraform,
  terraformProviders,
  warningsOf,
  type SynthesizedStack,
} from "@leasehold/infra-terrain/testing";
import { Testing } from "cdktn";
import { describe, expect, test } from "vitest";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";
import { azurerm } from "./azurerm-facts.ts";

describe("the app", () => {
  const stack = new LeaseholdStack(Testing.app(), "leasehold");
  const json = Testing.synth(stack, true);
  const parsed = JSON.parse(json) as SynthesizedStack;

  test("is what the provider takes, of the version that it was looked up in", () => {
    expect(findArgumentFaults(parsed, azurerm)).toEqual([]);
    expect(parsed.terraform?.required_providers).toEqual({ azurerm: { source: azurerm.source, version: "~> 4.73" } });
    expect(azurerm.version).toMatch(/^4\.73\./);
  });

  test("uses every type of resource that there is a table of", () => {
    expect(Object.keys(parsed.resource ?? {}).toSorted()).toEqual(Object.keys(azurerm.resources).toSorted());
  });

  test("warns of nothing, and names no place of this machine", () => {
    expect(warningsOf(stack)).toEqual([]);
    expect(json).not.toContain(process.cwd());
  });

  test("can be read by terraform, where that is installed", () => {
    // No registry of packages has it, so builds cannot count on it.
    if (hasTerraform()) expect(terraformProviders(json)).toContain("hashicorp/azurerm");
    else process.stderr.write("NOT CHECKED by terraform, which is not installed: the stack of infra/azure\n");
  });
});
