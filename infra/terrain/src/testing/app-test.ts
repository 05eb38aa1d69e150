import { Testing, type TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { findArgumentFaults, type SynthesizedStack } from "./argument-check.ts";
import type { ProviderFacts } from "./provider-facts.ts";
import { hasTerraform, terraformProviders } from "./terraform-providers.ts";
import { warningsOf } from "./warnings.ts";

/** Declares the tests of an app. @param version what its stack asks for of the provider, `major.minor`. */
export function testApp(stack: TerraformStack, provider: ProviderFacts, version: string): void {
  describe("the app", () => {
    const json = Testing.synth(stack, true);
    const parsed = JSON.parse(json) as SynthesizedStack;
    const { source, resources } = provider;

    test("is what the provider takes, of the version that it was looked up in", () => {
      expect(findArgumentFaults(parsed, provider)).toEqual([]);
      const name = source.replace("hashicorp/", "");
      expect(parsed.terraform?.required_providers).toEqual({ [name]: { source, version: `~> ${version}` } });
      expect(provider.version.split(".").slice(0, 2).join(".")).toBe(version);
    });

    test("uses every type of resource that there is a table of", () => {
      expect(Object.keys(parsed.resource ?? {}).toSorted()).toEqual(Object.keys(resources).toSorted());
    });

    test("warns of nothing, and names no place of this machine", () => {
      expect(warningsOf(stack)).toEqual([]);
      expect(json).not.toContain(process.cwd());
    });

    // No registry of packages has it, so builds cannot count on it.
    test.skipIf(!hasTerraform())("can be read by terraform (skipped where it is not installed)", () => {
      expect(terraformProviders(json)).toContain(source);
    });
  });
}
