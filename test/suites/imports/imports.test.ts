import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf, type Import } from "./imports-of.ts";
import { RULES } from "./rules.ts";

const root = join(import.meta.dirname, "../../..");

function find(pattern: string): string[] {
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|dist|cdk\.out|cdktf\.out)$/.test(path);
  return globSync(pattern, { cwd: root, exclude }).map((path) => path.replaceAll(sep, "/"));
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

const imports = find("{packages,infra,test}/**/*.ts").flatMap((file) => importsOf(file, read(file)));

describe.each(RULES)("$title", ({ files, allows, refused }) => {
  test("holds for every import", () => {
    const judged = imports.filter(({ file }) => files.test(file));
    expect(judged.length).toBeGreaterThan(0);
    expect(judged.filter((found) => !allows(found)).map(({ file, module }) => `${file} imports ${module}`)).toEqual([]);
  });

  test(`refuses ${refused.module} in ${refused.file}`, () => {
    expect(files.test(refused.file) && !allows({ names: [], isType: false, ...refused })).toBe(true);
  });
});

test("imports of every kind are found", () => {
  const source = `
    import one, { type Two } from "./a.ts";
    import * as all from "node:os";
    import type { Three } from "three";
    import "../b.ts";
    export { four } from "./c.ts";
    export * from "./d.ts";
    const five = await import("./e.ts");
    const unknown = await import(name);
  `;
  const value = { file: "packages/x/src/x.ts", isType: false };
  expect(importsOf(value.file, source)).toEqual<Import[]>([
    { ...value, module: "packages/x/src/a.ts", names: ["default", "Two"] },
    { ...value, module: "node:os", names: ["*"] },
    { ...value, module: "three", names: ["Three"], isType: true },
    { ...value, module: "packages/x/b.ts", names: [] },
    { ...value, module: "packages/x/src/c.ts", names: ["four"] },
    { ...value, module: "packages/x/src/d.ts", names: ["*"] },
    { ...value, module: "packages/x/src/e.ts", names: ["*"] },
  ]);
});

// npm takes the last of two, and says nothing.
test("no package.json names a dependency twice", () => {
  for (const file of find("{,packages/*/,infra/*/,examples/*/,examples/orms/prisma/,test/,test/*/}package.json")) {
    expect(`${JSON.stringify(JSON.parse(read(file)), null, 2)}\n`, file).toBe(read(file));
  }
});
