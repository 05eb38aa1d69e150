import { Annotations, Testing, TerraformStack, type TerraformMetaArguments } from "cdktn";
import { describe, expect, test, vi } from "vitest";
import { checkElections, granteeId, ProviderResource, synthesize } from "../../terraform.ts";
import { hasTerraform, terraformProviders } from "@leasehold/test-kit/terrain";

class Box extends ProviderResource {
  constructor(scope: TerraformStack, id: string, args: object, meta: TerraformMetaArguments = {}) {
    super(scope, id, "cloud_box", args, meta);
  }
}

describe("a resource", () => {
  test("is written with unchanged arguments, and with meta arguments beside them", () => {
    const stack = new TerraformStack(Testing.app(), "stack");
    const first = new Box(stack, "First", { name: "a", lid: {}, tags: { camelCase: "x" } });
    new Box(stack, "Second", { name: first.id, lid: {}, tags: {} }, { dependsOn: [first], lifecycle: { preventDestroy: true } });
    const { resource } = JSON.parse(Testing.synth(stack)) as { resource: Record<string, unknown> };
    expect(resource).toMatchObject({
      cloud_box: {
        First: { name: "a", lid: {}, tags: { camelCase: "x" } },
        Second: { name: "${cloud_box.First.id}", depends_on: ["cloud_box.First"], lifecycle: { prevent_destroy: true } },
      },
    });
  });

  test("needs its provider in the stack", () => {
    const stack = new TerraformStack(Testing.app(), "stack");
    new Box(stack, "First", { name: "a", lid: {}, tags: {} });
    expect(() => Testing.synth(stack, true)).toThrow("cloud");
  });
});

describe("a synth", () => {
  test("shows the warnings", () => {
    using shown = vi.spyOn(console, "warn").mockImplementation(() => {});
    const app = Testing.app();
    const stack = new TerraformStack(app, "stack");
    Annotations.of(stack).addWarning("mind the gap");
    Annotations.of(stack).addInfo("nice weather");
    synthesize(app);
    expect(shown.mock.calls).toEqual([["Warning at stack: mind the gap"]]);
  });
});

describe("the elections of a grant", () => {
  test.each([
    ["are none", [], "names no election"],
    ["have an empty name", ["a", ""], "is empty"],
    ["have a name that is too long", ["é".repeat(128)], "256 bytes"],
    ["have a lone surrogate", ["a\uD800"], "lone surrogate"],
    ["have a control character", ["a\n"], "control character"],
  ])("%s", (_, elections, message) => {
    expect(() => checkElections("grantCandidate", elections)).toThrow(message);
  });

  test("may be any name that a candidate may compete for", () => {
    expect(() => checkElections("grantCandidate", ["nightly-billing", "ü / *", "é".repeat(127)])).not.toThrow();
  });
});

describe("the id of a grant", () => {
  test("depends only on the grantee", () => {
    const stack = new TerraformStack(Testing.app(), "stack");
    new Box(stack, "First", { name: "a", lid: {}, tags: {} }).getStringAttribute("id");
    const box = new Box(stack, "Second", { name: "a", lid: {}, tags: {} });
    expect(granteeId(stack, "Observer", box.id)).toBe("Observer-cloud-box-Second-id");
    expect(granteeId(stack, "Observer", "user:a@b.example")).toBe("Observer-user-a-b-example");
  });
});

describe.skipIf(!hasTerraform())("terraform (skipped where it is not installed)", () => {
  test("refuses a file that is not valid", () => {
    expect(() => terraformProviders('{ "outputt": { "a": { "value": 1 } } }')).toThrow("outputt");
    expect(terraformProviders('{ "resource": { "null_resource": { "a": {} } } }')).toContain("hashicorp/null");
  });
});
