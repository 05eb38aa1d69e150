import { readFile, writeFile } from "node:fs/promises";
import { TerraformElement } from "cdktn";
import { Construct } from "constructs";
import { describe, expect, test } from "vitest";
import { sectionOf, type Cloud } from "./cloud.ts";
import { amount } from "./cost.ts";

const page = new URL("../../../site/pages/infrastructure.md", import.meta.url);

/**
 * Declares the tests of the costs of a cloud's constructs: the page has the figures that are stated here, and describes every
 * construct. With `LEASEHOLD_WRITE_DOCS=1` the page is written anew instead; then there must be only one worker.
 * @param exported everything that the package exports: `import * as exported from "@leasehold/infra-gcp"`.
 */
export function testCosts(cloud: Cloud, exported: object): void {
  describe(`what the constructs of ${cloud.folder} cost`, () => {
    test("is told of each of them", () => {
      const constructs = Object.entries(exported).filter(([, value]) => isConstruct(value));
      expect(Object.keys(cloud.constructs).toSorted()).toEqual(constructs.map(([name]) => name).toSorted());
    });

    test("is told with sources and a date", () => {
      expect(cloud.seen).toMatch(/\b20\d\d-\d\d-\d\d\b/);
      for (const cost of Object.values(cloud.constructs).flatMap(({ costs }) => costs)) {
        expect(cost.price.source).toMatch(/^https:\/\/\S+$/);
        expect(amount(cost)).toBeGreaterThanOrEqual(0);
      }
    });

    test("stands in site/pages/infrastructure.md (LEASEHOLD_WRITE_DOCS=1 npm test -- infra/*/test/costs.test.ts --maxWorkers=1)", async () => {
      const text = await readFile(page, "utf8");
      const written = withSection(text, cloud);
      if (process.env["LEASEHOLD_WRITE_DOCS"] === "1") await writeFile(page, written);
      else expect(text).toBe(written);
    });
  });
}

function withSection(text: string, cloud: Cloud): string {
  const begin = `<!-- costs of ${cloud.folder}: written by infra/${cloud.folder}/test/costs.test.ts -->\n`;
  const end = `<!-- end of costs of ${cloud.folder} -->\n`;
  const [before, rest] = text.split(begin);
  const [, after] = (rest ?? "").split(end);
  if (before === undefined || after === undefined)
    throw new Error(`site/pages/infrastructure.md has no ${begin.trim()} and ${end.trim()}.`);
  return `${before}${begin}\n${sectionOf(cloud)}\n\n${end}${after}`;
}

/** Reports whether an export is a construct of the package, and not a provider's resource that it re-exports or a whole stack. */
function isConstruct(value: unknown): boolean {
  if (typeof value !== "function" || !(value.prototype instanceof Construct)) return false;
  return !(value.prototype instanceof TerraformElement);
}
