import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unsupportedNodeMessage } from "../src/node-version.ts";

describe("the oldest Node", () => {
  test.each(["18.20.8", "20.20.2", "22.0.0", "22.12.0"])("%s is refused in one line, by its name and the floor's", (node) => {
    expect(unsupportedNodeMessage({ node })).toBe(`Leasehold needs Node 22.13 or later, and this is Node ${node}.`);
  });

  test.each(["22.13.0", "22.14.0-nightly", "23.0.0", "24.21.0", "100.0.0"])("%s is accepted", (node) => {
    expect(unsupportedNodeMessage({ node })).toBeUndefined();
  });

  test("another runtime is accepted, whatever Node version it states", () => {
    expect(unsupportedNodeMessage({ node: "20.0.0", bun: "1.0.0" })).toBeUndefined();
    expect(unsupportedNodeMessage({ node: "20.0.0", deno: "2.0.0" })).toBeUndefined();
    expect(unsupportedNodeMessage({})).toBeUndefined();
  });

  test("is the engine that each package and the repository state", () => {
    const root = join(import.meta.dirname, "../../..");
    const folders = [".", ...readdirSync(join(root, "packages")).map((name) => join("packages", name))];
    const floors = folders.map((folder) => {
      const { engines } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as { engines?: { node?: string } };
      return [folder, engines?.node];
    });
    expect(floors).toEqual(folders.map((folder) => [folder, ">=22.13"]));
    expect(unsupportedNodeMessage({ node: "0.0.0" })).toContain("Node 22.13 or later");
  });
});
