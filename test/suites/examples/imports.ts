import { glob, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, test } from "vitest";
import type { Manifest } from "../../programs/packaging/tarball.ts";
import { EXAMPLES } from "./workshop.ts";

const IMPORT = /^import (type )?(?:[^"]* from )?"([^".][^"]*)";$/gm;

const manifests = await Array.fromAsync(glob("*/{,*/}package.json", { cwd: EXAMPLES, exclude: ["**/node_modules"] }));
const names = manifests.map((manifest) => dirname(manifest));

// The examples are installed together, so one could import a package that only another one names.
describe.concurrent("the package.json of an example", () => {
  test.for(names)("of %s names every package that it imports", async (name, { expect }) => {
    const folder = join(EXAMPLES, name);
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
    const nested = names.filter((other) => other.startsWith(`${name}/`)).map((other) => relative(name, other));
    const files = await Array.fromAsync(glob("**/*.ts", { cwd: folder, exclude: ["node_modules", ...nested] }));
    const texts = await Promise.all(files.map(async (file) => readFile(join(folder, file), "utf8")));
    const imported = texts.flatMap((text) => [...text.matchAll(IMPORT)]).filter(([, , from]) => !from?.startsWith("node:"));
    expect(imported).not.toEqual([]);
    const missing = imported.filter(([, type, from = ""]) => {
      const [of] = /^(@[^/]+\/)?[^/]+/.exec(from)!;
      return !(of in { ...dependencies, ...(type ? devDependencies : {}) });
    });
    expect(missing.map(([statement]) => statement)).toEqual([]);
  });
});
