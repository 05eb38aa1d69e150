import { describe, expect, test } from "vitest";
import { findArgumentFaults, type ProviderFacts } from "@leasehold/test-kit/terrain";

const facts: ProviderFacts = {
  source: "example/cloud",
  version: "1.2.3",
  bindings: "none@1.0.0",
  configuration: { features: { min: 1, max: 1, block: {} }, region: "string" },
  resources: {
    cloud_box: {
      arguments: {
        name: "required string",
        size: "number",
        open: "bool",
        tags: "map",
        zones: "set",
        lid: { min: 1, max: 1, block: { colour: "required string" } },
        label: { block: { text: "string" } },
      },
      exports: ["id", "url"],
    },
  },
};

const good = {
  provider: { cloud: [{ features: {}, region: "${var.region}" }] },
  variable: { region: { type: "string" } },
  resource: {
    cloud_box: {
      first: {
        "//": { metadata: {} },
        depends_on: ["cloud_box.second"],
        lifecycle: { prevent_destroy: true },
        name: "a ${cloud_box.second.url} b",
        size: "${var.region}",
        open: true,
        tags: { any: "thing" },
        zones: ["1"],
        lid: { colour: "red" },
        label: [{ text: "a" }, { text: "b" }],
      },
      second: { name: "${cloud_box.first.name}", lid: [{ colour: "blue" }] },
    },
  },
};

/** Returns the faults of the good stack with these arguments in its first box. */
function faultsOf(change: Record<string, unknown>): string[] {
  // As in JSON, an undefined argument is absent.
  const box = JSON.parse(JSON.stringify({ ...good.resource.cloud_box.first, ...change })) as Record<string, unknown>;
  return findArgumentFaults({ ...good, resource: { cloud_box: { ...good.resource.cloud_box, first: box } } }, facts);
}

describe("a check of arguments", () => {
  test("finds nothing in a correct stack", () => {
    expect(findArgumentFaults(good, facts)).toEqual([]);
  });

  test.each([
    ["an argument that there is not", { colour: "red" }, "cloud_box.first.colour: there is no such argument"],
    ["one in a block", { lid: { colour: "red", weight: 1 } }, "cloud_box.first.lid.weight: there is no such argument"],
    ["one in the second block", { label: [{}, { texts: "b" }] }, "cloud_box.first.label[1].texts: there is no such argument"],
    ["a required argument that is missing", { name: undefined }, "cloud_box.first.name: is required, and missing"],
    ["one in a block", { lid: {} }, "cloud_box.first.lid.colour: is required, and missing"],
    ["a required block that is missing", { lid: undefined }, "cloud_box.first.lid: is required, and missing"],
    ["a block that is none", { lid: "red" }, "cloud_box.first.lid: is a block, and was given a string"],
    ["blocks that are none", { label: ["a"] }, "cloud_box.first.label[0]: is a block, and was given a string"],
    ["a list in place of a block", { label: [["a"]] }, "cloud_box.first.label[0]: is a block, and was given a list"],
    [
      "an attribute that is a block",
      { name: { text: "a" } },
      "cloud_box.first.name: is an attribute of type string, and was given a map",
    ],
    ["a number for a string", { name: 1 }, "cloud_box.first.name: is an attribute of type string, and was given a number"],
    ["a string for a number", { size: "1" }, "cloud_box.first.size: is an attribute of type number, and was given a string"],
    ["a string for a truth", { open: "true" }, "cloud_box.first.open: is an attribute of type bool, and was given a string"],
    ["a list for a map", { tags: [] }, "cloud_box.first.tags: is an attribute of type map, and was given a list"],
    ["a string for a set", { zones: "1" }, "cloud_box.first.zones: is an attribute of type set, and was given a string"],
    ["a block too many", { lid: [{ colour: "a" }, { colour: "b" }] }, "cloud_box.first.lid: takes 1 block at most, and has 2"],
    ["a block too few", { lid: [] }, "cloud_box.first.lid: needs 1 or more blocks, and has 0"],
    ["a resource that there is not", { name: "${cloud_box.third.url}" }, "${cloud_box.third.url}: there is no such resource"],
    [
      "an attribute that there is not",
      { name: "${cloud_box.second.weight}" },
      "${cloud_box.second.weight}: cloud_box has no attribute weight",
    ],
    ["a variable that there is not", { name: "x${var.zone}" }, "${var.zone}: there is no such variable"],
  ])("finds %s", (_, change, fault) => {
    expect(faultsOf(change)).toEqual([fault]);
  });

  test("finds an unknown type of resource", () => {
    const stack = { resource: { cloud_bag: { first: {} } } };
    expect(findArgumentFaults(stack, facts)).toEqual(["cloud_bag: there is no resource of this type in the table"]);
  });

  test("finds faults in the provider's own block", () => {
    const stack = { provider: { cloud: [{ zone: "a" }] } };
    expect(findArgumentFaults(stack, facts)).toEqual([
      "provider.cloud.zone: there is no such argument",
      "provider.cloud.features: is required, and missing",
    ]);
  });
});
