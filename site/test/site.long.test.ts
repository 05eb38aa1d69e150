import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { beforeAll, describe, expect, it } from "vitest";

const site = fileURLToPath(new URL("..", import.meta.url));
const dist = new URL("../dist/", import.meta.url);
/** About 8,000 tokens, at four characters each. */
const SMALL_CHARACTERS = 32_000;
/** The build takes ten seconds on an idle machine. */
const BUILD_LIMIT_MS = 1_200_000;

// The build fails for a dead link.
beforeAll(async () => await build(site), BUILD_LIMIT_MS);

describe("the files for language models", () => {
  it("name each page, and have its text", async () => {
    const [list, full, small] = await Promise.all(
      ["llms.txt", "llms-full.txt", "llms-small.txt"].map(async (name) => await readFile(new URL(name, dist), "utf8")),
    );
    expect(list).toContain("- [Concepts in ten minutes](/concepts.md)");
    expect(full).toContain("# Policies of schedules");
    expect(small).toContain("# Which call do I need?");
    expect(small?.length).toBeLessThan(SMALL_CHARACTERS);
    const listed = [...(list ?? "").matchAll(/\(\/(.+?\.md)\)/g)].map(([, path = ""]) => path);
    for (const path of listed) expect((await readFile(new URL(path, dist), "utf8")).length, path).toBeGreaterThan(50);
  });

  it("come with pages that load nothing from elsewhere", async () => {
    for (const name of (await readdir(dist)).filter((each) => each.endsWith(".html"))) {
      const html = await readFile(new URL(name, dist), "utf8");
      const loaded = [...html.matchAll(/<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"/g)].map(([, url]) => url);
      expect(loaded, name).toEqual([]);
    }
  });
});
