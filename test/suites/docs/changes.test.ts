import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

test("CHANGELOG.md leads to the changelog of each published package", () => {
  const manifests = globSync("{packages,infra}/*/package.json", { cwd: root });
  const published = manifests.filter((file) => (JSON.parse(read(file)) as { private?: boolean }).private !== true);
  const linked = [...read("CHANGELOG.md").matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
  expect(new Set(linked)).toEqual(new Set(published.map((file) => join(dirname(file), "CHANGELOG.md"))));
});

test("a changeset is one or two lines for users", () => {
  // Between two releases there may be none.
  for (const file of globSync(".changeset/*.md", { cwd: root })) {
    const lines = read(file).split(/^---$/m)[2]!.trim().split("\n");
    expect(lines.length, file).toBeLessThanOrEqual(2);
    expect(Math.max(...lines.map(({ length }) => length)), file).toBeLessThanOrEqual(140);
  }
});
