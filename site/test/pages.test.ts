import { globSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { LeaseholdError, type LeaseholdErrorCode } from "@leasehold/core";
import { describe, expect, it, test } from "vitest";
import { doorsOf } from "../../test/programs/api/report.ts";
import { apiPage } from "../.vitepress/api-pages.ts";
import { servedText, targetOf } from "../.vitepress/repository-links.ts";

const root = new URL("../../", import.meta.url);
const text = async (path: string): Promise<string> => await readFile(new URL(path, root), "utf8");

/** The first column of every table of a page that stands in code. */
function namesOn(page: string): string[] {
  return [...page.matchAll(/^\| (?:<a id="\w+"><\/a>)?((?:`[^`]+`(?:, )?)+)/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)/g)].map(([, name = ""]) => name),
  );
}

describe("the pages of the site", () => {
  it("list every error code, each where its error leads, and no other", async () => {
    const source = await text("packages/core/src/reporting/errors.ts");
    const types = source.slice(0, source.indexOf("/** The details that every error"));
    const codes = [...types.matchAll(/\| "([A-Z_]+)"/g)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(15);
    const page = await text("site/pages/errors.md");
    expect(new Set(namesOn(page))).toEqual(new Set(codes));
    for (const code of codes) {
      const error = new LeaseholdError(code as LeaseholdErrorCode, "");
      const { help } = error;
      expect(inspect(error), "what Node prints of an error").toContain(help);
      const [address, anchor] = help.split("#");
      expect(address).toMatch(/\/site\/pages\/errors\.md$/);
      expect(page).toContain(`| <a id="${anchor}"></a>\`${code}\``);
    }
  });

  it("list every event of an elector, and every member of a leadership", async () => {
    const events = await text("packages/core/src/election/elector-events.ts");
    const leadership = await text("packages/core/src/election/leadership.ts");
    const members = leadership.slice(
      leadership.indexOf("interface Leadership"),
      leadership.indexOf("interface OccurrenceLeadership"),
    );
    const expected = [
      ...[...events.matchAll(/^ {2}readonly (\w+): \{/gm)].map(([, name]) => name),
      ...[...members.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, name]) => name),
    ];
    expect(expected.length).toBeGreaterThan(20);
    expect(namesOn(await text("site/pages/events.md"))).toEqual(expect.arrayContaining(expected));
  });

  it("document each export of a package, with the doc comments of its members, and nothing as HTML", () => {
    const page = apiPage("core", doorsOf(fileURLToPath(root), "packages/core"));
    expect(page).toMatch(
      /^### Elector\n\nOne candidate in one election\.[\s\S]*?\| `get isLeader\(\): boolean` \| Computed from the clocks/m,
    );
    expect(page).toMatch(/^### ElectorOptions\n[\s\S]*?\| `startup\?: "fail-fast" \\\| "patient"` \| \S/m);
    const outsideOfCode = page.replaceAll(/```[\s\S]*?```|`[^`]*`/g, "");
    expect(page).toContain("Throws `ConfigurationError` or `UnsupportedError` for a call");
    expect(outsideOfCode).not.toMatch(/\{\w+Error\}|<|\{\{|@(?:throws|returns?|param|defaultValue)\b/);
  });

  it("have at most 150 lines each, and the README of the repository 120", async () => {
    const found = glob(["site/pages/*.md", "packages/{*,sql/orms}/*.md"], { cwd: fileURLToPath(root) });
    const paths = (await Array.fromAsync(found)).filter((each) => !each.endsWith("CHANGELOG.md"));
    expect(paths.length).toBeGreaterThan(50);
    for (const path of [...paths, "README.md"]) {
      const most = path === "README.md" ? 120 : 150;
      expect((await text(path)).trimEnd().split("\n").length, path).toBeLessThanOrEqual(most);
    }
  });
});

/** A quorum and servers that vote have no service with rights and costs of its own. */
const WITH_A_SERVICE = globSync("packages/*/src/from-url.ts", { cwd: fileURLToPath(root) })
  .map((path) => path.split("/")[1]!)
  .filter((name) => name !== "quorum" && name !== "voting");

test.each(WITH_A_SERVICE)("the page of a store, %s, has the sections that each has, in their order", async (name) => {
  const wanted = ["Rights", "What is stored", "Limits", "Costs", "At a failover"];
  const headings = [...(await text(`packages/${name}/README.md`)).matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => heading);
  expect(headings.filter((heading) => wanted.includes(heading))).toEqual(wanted);
});

describe("a link of a page", () => {
  it.each([
    { href: "timing.md#measured", page: "site/pages/recipes.md", target: "/timing#measured" },
    { href: "../../site/pages/concepts.md#lease", page: "packages/sql/README.md", target: "/concepts#lease" },
    { href: "../../packages/sql/README.md", page: "site/pages/recipes.md", target: "/packages/sql/README" },
    { href: "orms/knex.md#x", page: "packages/sql/README.md", target: "/packages/sql/orms/knex#x" },
    {
      href: "../../CONTRIBUTING.md#backends",
      page: "site/pages/recipes.md",
      target: "https://github.com/leasehold/leasehold/blob/main/CONTRIBUTING.md#backends",
    },
    { href: "#here", page: "site/pages/recipes.md", target: "#here" },
    { href: "/reference/core", page: "site/pages/start.md", target: "/reference/core" },
    { href: "https://example.com/x.md", page: "site/pages/recipes.md", target: "https://example.com/x.md" },
  ])("to $href from $page leads to $target", ({ href, page, target }) => expect(targetOf(href, page)).toBe(target));

  it.each([
    { text: "[`code`](errors.md#fenced)", page: "site/pages/recipes.md", served: "[`code`](/base/errors.md#fenced)" },
    {
      text: "[x](../../packages/sql/orms/knex.md)",
      page: "site/pages/start.md",
      served: "[x](/base/packages/sql/orms/knex.md)",
    },
    { text: "[x](#here), `a[0](timing.md)`", page: "site/pages/recipes.md", served: "[x](#here), `a[0](timing.md)`" },
    {
      text: "[x](../../LICENSE)",
      page: "site/pages/recipes.md",
      served: "[x](https://github.com/leasehold/leasehold/blob/main/LICENSE)",
    },
  ])("is served in Markdown: $text of $page", ({ text: page, page: from, served }) =>
    expect(servedText(page, from, "/base/")).toBe(served),
  );
});
