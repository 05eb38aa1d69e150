import { Testing, type TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { findArgumentFaults, providerName, type SynthesizedStack } from "./argument-check.ts";
import type { ProviderFacts } from "./provider-facts.ts";
import { hasTerraform, terraformProviders } from "./terraform-providers.ts";
import { warningsOf } from "./warnings.ts";

/** Declares the tests of an app. Its stack requires the providers' versions of the tables, or newer ones. */
export function testApp(stack: TerraformStack, ...providers: readonly ProviderFacts[]): void {
  describe("the app", () => {
    const json = Testing.synth(stack, true);
    const parsed = JSON.parse(json) as SynthesizedStack;

    test("is what the providers take, of the versions that they were looked up in", () => {
      expect(findArgumentFaults(parsed, ...providers)).toEqual([]);
      const required = providers.map(({ source, version }) => [
        providerName(source),
        { source, version: `~> ${version.split(".").slice(0, 2).join(".")}` },
      ]);
      expect(parsed.terraform?.required_providers).toEqual(Object.fromEntries(required));
    });

    test("uses every type of resource that there is a table of", () => {
      const types = providers.flatMap(({ resources }) => Object.keys(resources));
      expect(Object.keys(parsed.resource ?? {}).toSorted()).toEqual(types.toSorted());
    });

    test("warns of nothing, and names no place of this machine", () => {
      expect(warningsOf(stack)).toEqual([]);
      expect(json).not.toContain(process.cwd());
    });

    // terraform is in no package registry, so builds cannot rely on it.
    test.skipIf(!hasTerraform())("can be read by terraform (skipped where it is not installed)", () => {
      for (const { source } of providers) expect(terraformProviders(json).toLowerCase()).toContain(source.toLowerCase());
    });
  });
}
