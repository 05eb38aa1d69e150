import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { STORE_NAMES } from "@leasehold/test-kit/stores/stores";
import { expect, test } from "vitest";
import { STORES } from "../src/store-url/stores.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** The folders of all packages that open stores by URLs. */
const FOLDERS = readdirSync(join(ROOT, "packages")).filter((folder) =>
  existsSync(join(ROOT, `packages/${folder}/src/from-url.ts`)),
);

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The files of the kit that open stores, by the names that the demo, chaos and the benchmarks use. */
const KIT = STORE_NAMES.map((name) => read(`test/kit/stores/${name}.ts`)).join("\n");

// CONTRIBUTING.md lists these places under "Adding a store".
test.for(FOLDERS)("the store of packages/%s is named in every place that needs it", (folder) => {
  const name = `@leasehold/${folder}`;
  expect(
    STORES.map((store) => store.name),
    "packages/cli/src/store-url/stores.ts",
  ).toContain(name);
  const manifest = JSON.parse(read("packages/cli/package.json")) as Readonly<Record<string, object>>;
  const lists = (field: string): boolean => Object.hasOwn(manifest[field] ?? {}, name);
  const isOptional = lists("peerDependencies") && lists("peerDependenciesMeta");
  expect(isOptional || lists("dependencies"), "an optional peer of packages/cli/package.json").toBe(true);
  expect(KIT, "test/kit/stores").toContain(`from "${name}"`);
  expect(read("test/tsconfig.json")).toContain(`"../packages/${folder}"`);
  const suites = readdirSync(join(ROOT, "packages", folder, "test")).filter((file) => /^conformance.*\.test\.ts$/.test(file));
  expect(suites, "test/conformance.test.ts").not.toEqual([]);
  expect(read("README.md"), "the table of stores in README.md").toContain(`| \`${name}\``);
});

test("every store of the command is a package of this repository", () => {
  expect(STORES.map(({ name }) => name).toSorted()).toEqual(FOLDERS.map((folder) => `@leasehold/${folder}`));
});
