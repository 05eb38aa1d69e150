import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
}

const published = globSync("{packages,infra}/*/package.json", { cwd: root }).filter(
  (file) => (JSON.parse(read(file)) as Manifest).private !== true,
);

test("CHANGELOG.md leads to the changelog of each published package", () => {
  const linked = [...read("CHANGELOG.md").matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
  expect(new Set(linked)).toEqual(new Set(published.map((file) => join(dirname(file), "CHANGELOG.md"))));
});

test("a changeset names published packages", () => {
  const names = published.map((file) => (JSON.parse(read(file)) as Manifest).name);
  const named = globSync(".changeset/*.md", { cwd: root }).flatMap((file) => [...read(file).matchAll(/^"(.+)": /gm)]);
  expect(names).toEqual(expect.arrayContaining(named.map(([, name]) => name)));
});

test("a changeset is one or two lines for users", () => {
  // Between two releases there may be none.
  for (const file of globSync(".changeset/*.md", { cwd: root })) {
    const lines = read(file).split(/^---$/m)[2]!.trim().split("\n");
    expect(lines.length, file).toBeLessThanOrEqual(2);
    expect(Math.max(...lines.map(({ length }) => length)), file).toBeLessThanOrEqual(140);
  }
});
