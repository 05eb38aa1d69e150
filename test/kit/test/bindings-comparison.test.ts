import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compareWithFolder, type ArgumentFacts, type ProviderFacts } from "@leasehold/test-kit/terrain";

// The same form as the output of the real generator.
const entry = (name: string, value: string, isBlock: boolean, type: string, storage: string): string => `
    ${name}: {
      value: ${value},
      isBlock: ${isBlock},
      type: "${type}",
      storageClassType: "${storage}",
    },`;
const BOX_JS = `
function cloudBoxLidToHclTerraform(struct) {
  const attrs = {${entry("lid_colour", "cdktn.stringToHclTerraform(struct.lidColour)", false, "simple", "string")}
  };
  // remove undefined attributes
}
class CloudBox {
  synthesizeHclAttributes() {
    const attrs = {${entry("name", "cdktn.stringToHclTerraform(this._name)", false, "simple", "string")}${entry("open", "cdktn.booleanToHclTerraform(this._open)", false, "simple", "boolean")}${entry("tags", "cdktn.hashMapperHcl(cdktn.stringToHclTerraform)(this._tags)", false, "map", "stringMap")}${entry("lid", "cloudBoxLidToHclTerraform(this._lid.internalValue)", true, "list", "CloudBoxLidList")}${entry("spare_lid", "cdktn.listMapperHcl(cloudBoxLidToHclTerraform, true)(this._spareLid.internalValue)", true, "list", "CloudBoxLidList")}
    };
    // remove undefined attributes
  }
}`;
const BOX_DTS = `
export interface CloudBoxConfig extends cdktn.TerraformMetaArguments {
    readonly name: string;
    readonly open?: boolean | cdktn.IResolvable;
    readonly tags?: {
        [key: string]: string;
    };
    readonly lid: CloudBoxLid;
    readonly spareLid?: CloudBoxLid[] | cdktn.IResolvable;
}
export interface CloudBoxLid {
    readonly lidColour: string;
}
export declare class CloudBox {
    get boxUrl(): string;
}`;

const lid = { lid_colour: "required string" } as const;
const BOX: ArgumentFacts = {
  name: "required string",
  open: "bool",
  tags: "map",
  lid: { min: 1, max: 1, block: lid },
  spare_lid: { block: lid },
};

describe("a comparison with bindings", () => {
  let root = "";

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "leasehold-bindings-test-"));
    for (const [folder, js, dts] of [
      ["provider", "", ""],
      ["box", BOX_JS, BOX_DTS],
    ] as const) {
      mkdirSync(join(root, "lib", folder), { recursive: true });
      writeFileSync(join(root, "lib", folder, "index.js"), js);
      writeFileSync(join(root, "lib", folder, "index.d.ts"), dts);
    }
    writeFileSync(join(root, "package.json"), JSON.stringify({ cdktn: { provider: { version: "1.2.3" } } }));
  });

  afterAll(() => rmSync(root, { recursive: true }));

  function differences(box: ArgumentFacts, more: Partial<ProviderFacts> = {}): string[] {
    const facts = { source: "example/cloud", version: "1.2.3", bindings: "none@1.0.0", configuration: {} };
    return compareWithFolder({ ...facts, resources: { cloud_box: { arguments: box, exports: ["box_url"] } }, ...more }, root)
      .differences;
  }

  test("finds nothing if the table is correct", () => {
    expect(differences(BOX)).toEqual([]);
  });

  test.each<[string, ArgumentFacts, string]>([
    ["a name", { ...BOX, size: "number" }, "cloud_box.size exists: true in the table, false in the bindings"],
    ["a type", { ...BOX, open: "string" }, "cloud_box.open is: string in the table, bool in the bindings"],
    ["what is required", { ...BOX, name: "string" }, "cloud_box.name is: string in the table, required string in the bindings"],
    ["an attribute for a block", { ...BOX, lid: "map" }, "cloud_box.lid is: map in the table, block in the bindings"],
    [
      "a block for an attribute",
      { ...BOX, tags: { block: {} } },
      "cloud_box.tags is a block: true in the table, false in the bindings",
    ],
    ["how many at least", { ...BOX, lid: { max: 1, block: lid } }, "cloud_box.lid at least: 0 in the table, 1 in the bindings"],
    [
      "how many at most",
      { ...BOX, lid: { min: 1, block: lid } },
      "cloud_box.lid at most: undefined in the table, 1 in the bindings",
    ],
    [
      "what is in a block",
      { ...BOX, spare_lid: { block: { lid_colour: "string" } } },
      "cloud_box.spare_lid.lid_colour is: string in the table, required string in the bindings",
    ],
    [
      "what is missing",
      { ...BOX, spare_lid: { block: {} } },
      "cloud_box.spare_lid.lid_colour, which is required, is there: false in the table, true in the bindings",
    ],
  ])("finds a difference in %s", (_, box, difference) => {
    expect(differences(box)).toEqual([difference]);
  });

  test("finds another version, and an attribute that is not exported", () => {
    const resources = { cloud_box: { arguments: BOX, exports: ["weight"] } };
    expect(differences(BOX, { version: "1.3.0", resources })).toEqual([
      "version of the provider: 1.3.0 in the table, 1.2.3 in the bindings",
      "cloud_box.weight exported: true in the table, false in the bindings",
    ]);
  });
});
