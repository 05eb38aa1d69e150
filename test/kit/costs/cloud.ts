import { markdownTable } from "../markdown-table.ts";
import { dollars, sum, type Cost } from "./cost.ts";

/** The resources and the costs of the constructs for one cloud, as in site/pages/infrastructure.md. */
export interface Cloud {
  /** The folder in `infra`. */
  readonly folder: "aws" | "azure" | "gcp";
  /** The region of the prices, as the cloud calls it. */
  readonly region: string;
  /** The date of the prices, such as `2026-11-23`, and their origin if that is not the sources themselves. */
  readonly seen: string;
  readonly constructs: Readonly<Record<string, ConstructFacts>>;
}

/** A row of the table. Texts are Markdown. */
export interface ConstructFacts {
  readonly makes: string;
  /** The costs of a month, at the defaults, without work other than elections. An empty list costs nothing. */
  readonly costs: readonly Cost[];
  /** The rights that it gives, and to whom. */
  readonly rights: string;
}

/** Returns the section of site/pages/infrastructure.md, without its marks, as the formatter leaves it. */
export function sectionOf({ folder, region, seen, constructs }: Cloud): string {
  return [
    markdownTable(
      ["construct", "makes", "USD a month", "who may do what"],
      Object.entries(constructs).map(([name, facts]) => [`\`${name}\``, facts.makes, dollars(sum(facts.costs)), facts.rights]),
    ),
    `List prices of ${region}, ${seen}. [The test](../../infra/${folder}/test/costs.test.ts) has the arithmetic.`,
  ].join("\n\n");
}
