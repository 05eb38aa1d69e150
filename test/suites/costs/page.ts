import { decimal, dollars, sum, type Price } from "@leasehold/test-kit/costs/cost";
import { markdownTable } from "@leasehold/test-kit/markdown-table";
import type { Requests } from "../../programs/bench/request-counter.ts";
import { CHOICES, costsAt, OF_A_MEMBER } from "./quorums.ts";
import { costsOf, USAGES, WHO, type Usage, type Who } from "./usage.ts";

/** The date and the source of the prices. */
const SEEN =
  "Looked up on 2026-11-23, when the clouds' own pages could not be read: Amazon's as other pages cite them, Google's from stored\n" +
  "copies of its pages, Azure's as known.";
const TITLES: Readonly<Record<Who, string>> = {
  leader: "a leader",
  standby: "each standby",
  tick: "a tick each minute, done",
  idleTick: "a tick each minute, found done",
};

/** The text of site/pages/costs.md, as the formatter leaves it. */
export function costsPage(): string {
  const usages = Object.values(USAGES);
  const priced = usages.filter(({ prices }) => prices !== undefined);
  const costs = usages.flatMap((usage) => WHO.flatMap((who) => costsOf(usage, who)));
  const prices = new Set<Price>(costs.map(({ price }) => price));
  return `${[
    "# What elections cost",
    `The requests of one election to its store, and their price in a month of 730 hours, at the defaults (a lease of 15 s). Written by
\`LEASEHOLD_WRITE_DOCS=1 npm run test:long -- test/suites/costs --maxWorkers=1\`, whose tests count these requests.`,
    "## USD a month",
    markdownTable(
      ["", ...WHO.map((who) => TITLES[who])],
      priced.map((usage) => [usage.title, ...WHO.map((who) => dollars(sum(costsOf(usage, who))))]),
    ),
    `List prices; free allowances, taxes, storage and traffic are not counted. ${SEEN}
A longer lease costs a leader less in proportion: one of 60 s costs a quarter.`,
    `A leader and three standbys on DynamoDB in us-east-1 cost ${dollars(sum(FOUR_CANDIDATES))} USD a month.`,
    AND_ELSE,
    "## A quorum",
    "Each member is asked for what the first line says. [Choosing members](quorum.md) says what each choice survives.",
    markdownTable(
      ["members", ...WHO.map((who) => TITLES[who])],
      [
        ["requests to each", ...WHO.map((who) => toldOf(OF_A_MEMBER[who]))],
        ...CHOICES.map((choice) => [
          choice.title,
          ...WHO.map((who) => dollars(sum(choice.members.flatMap((member) => costsAt(member, who))))),
        ]),
      ],
    ),
    "## Requests",
    "Those of a leader and of a standby in an hour; of a function, for each tick. `r` is a read, `w` a write.",
    markdownTable(
      ["", ...WHO.map((who) => TITLES[who])],
      usages.map((usage) => [usage.title, ...WHO.map((who) => requestsTold(usage, who))]),
    ),
    "## Prices",
    `A month has 730 hours and 43,800 ticks. A standby's read at DynamoDB is half a unit, because it need not be consistent. A write of a
quorum's member there is two units, because it has more than 1 KB.`,
    markdownTable(
      ["price", "USD", "for", "source"],
      [...prices].map(({ of, usd, per = 1, source }) => [of, decimal(usd), decimal(per), `[${new URL(source).host}](${source})`]),
    ),
  ].join("\n\n")}\n`;
}

const FOUR_CANDIDATES = (["leader", "standby", "standby", "standby"] as const).flatMap((who) => costsOf(USAGES.dynamodb, who));

const AND_ELSE = [
  "- **SQL, Redis, Valkey, Kubernetes, etcd and servers that vote** take nothing for requests. A managed service may.",
  "- **[A SQL database that sleeps when idle](../../packages/sql/drivers.md#serverless-databases)** is awake all hours of the month.",
  "- **The other prices of a cloud**, for alarms, logs and compute, are in [infrastructure.md](infrastructure.md).",
].join("\n");

function requestsTold(usage: Usage, who: Who): string {
  if (who === "standby" && usage.told !== undefined) return `none; it is told ${decimal(usage.told)} renewals`;
  return toldOf(usage[who]);
}

function toldOf({ reads, writes }: Requests): string {
  const parts = [reads > 0 ? `${decimal(reads)} r` : "", writes > 0 ? `${decimal(writes)} w` : ""].filter((part) => part !== "");
  return parts.length === 0 ? "none" : parts.join(", ");
}
