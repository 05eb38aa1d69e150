import { sectionOf } from "@leasehold/test-kit/costs/cloud";
import { amount, cost, dollars, SECONDS, sum, type Price } from "@leasehold/test-kit/costs/cost";
import { describe, expect, test } from "vitest";

const second: Price = { of: "a vCPU-second", usd: 0.000018, source: "https://example.com/run" };
const write: Price = { of: "writes", usd: 0.09, per: 100_000, source: "https://example.com/firestore" };
const processor = cost(second, [2, "instances"], SECONDS);
const writes = cost(write, [525_600, "renewals"]);

describe("the costs of a construct", () => {
  test("are the product of its factors, at the price of a number of units", () => {
    expect(amount(processor)).toBeCloseTo(94.608, 6);
    expect(amount(writes)).toBeCloseTo(0.47304, 6);
    expect(sum([processor, writes])).toBeCloseTo(95.08104, 6);
    expect(sum([])).toBe(0);
  });

  test("are shown in cents, and below one not as zero", () => {
    expect([0, 0.001, 0.47304, 1_234.5].map((usd) => dollars(usd))).toEqual(["0", "< 0.01", "0.47", "1,234.50"]);
  });

  test("are listed in a table whose columns are as wide as their widest cell", () => {
    const facts = { makes: "a pool", costs: [processor, writes], rights: "none" };
    const section = sectionOf({ folder: "gcp", region: "us-central1", seen: "2026-11-23", constructs: { A: facts, Bcd: facts } });
    expect(section).toContain("| `A`       | a pool | 95.08       | none            |");
    const lines = section.split("\n").filter((line) => line.startsWith("|"));
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
  });
});
