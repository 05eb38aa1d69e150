import { readFile, writeFile } from "node:fs/promises";
import { timing } from "@leasehold/core";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { amount, sum } from "@leasehold/test-kit/costs/cost";
import { testStore } from "@leasehold/test-kit/stores/stores";
import { describe, expect, test } from "vitest";
import { functionRequests } from "../../programs/bench/function-requests.ts";
import { mostRequests } from "./most-requests.ts";
import { costsPage } from "./page.ts";
import { CHOICES, costsAt, OF_A_MEMBER } from "./quorums.ts";
import { CHARGED_STORES, costsOf, USAGES, WHO, type Who } from "./usage.ts";

const page = new URL("../../../site/pages/costs.md", import.meta.url);

test("site/pages/costs.md is what is counted and charged (LEASEHOLD_WRITE_DOCS=1 writes it)", async () => {
  if (process.env["LEASEHOLD_WRITE_DOCS"] === "1") await writeFile(page, costsPage());
  await expect(readFile(page, "utf8")).resolves.toBe(costsPage());
});

test("a month's costs are the requests of its hours or ticks at their prices", () => {
  const usd = WHO.map((who) => sum(costsOf(USAGES.dynamodb, who)));
  expect(usd[0]).toBeCloseTo((720 * 730 * 0.625) / 1e6, 9);
  expect(usd[1]).toBeCloseTo((2_300 * 730 * 0.5 * 0.125) / 1e6, 9);
  expect(usd[2]).toBeCloseTo((43_800 * (3 * 0.625 + 3 * 0.125)) / 1e6, 9);
  expect(sum(costsOf(USAGES.firestore, "standby"))).toBeCloseTo((720 * 730 * 0.03) / 1e5, 9);
  expect(costsOf(USAGES.postgres, "leader").map(amount)).toEqual([]);
});

test("a quorum costs what its members are asked, each at its own price", () => {
  const monthly = (title: string, who: Who): number =>
    sum(CHOICES.find((choice) => choice.title.startsWith(title))!.members.flatMap((member) => costsAt(member, who)));
  const dynamodb = (720 * 2 * 730 * 0.625) / 1e6;
  const firestore = (720 * 730 * 0.09) / 1e5;
  expect(monthly("DynamoDB in three", "leader")).toBeCloseTo(3 * dynamodb, 9);
  expect(monthly("DynamoDB, Firestore", "leader")).toBeCloseTo(dynamodb + firestore, 9);
  expect(monthly("DynamoDB, Firestore", "standby")).toBeCloseTo(
    (2_300 * 730 * 0.5 * 0.125) / 1e6 + (2_300 * 730 * 0.03) / 1e5,
    9,
  );
  expect(monthly("DynamoDB in three", "tick")).toBeCloseTo((3 * 43_800 * (5 * 2 * 0.625 + 8 * 0.125)) / 1e6, 9);
  expect(monthly("DynamoDB, Firestore", "tick")).toBeCloseTo(
    (43_800 * (5 * 2 * 0.625 + 8 * 0.125)) / 1e6 + (43_800 * (5 * 0.09 + 8 * 0.03)) / 1e5,
    9,
  );
  expect(monthly("Firestore in three", "idleTick")).toBeCloseTo((3 * 43_800 * 3 * 0.03) / 1e5, 9);
  for (const who of WHO) expect(monthly("three databases", who)).toBe(0);
});

test("a leader is charged with a write for each of its renewals", () => {
  const { renewIntervalMs } = timing({});
  for (const { leader } of [...Object.values(USAGES), OF_A_MEMBER]) expect(leader.writes).toBe(3_600_000 / renewIntervalMs);
});

describe.each([...CHARGED_STORES, "quorum"] as const)("a function on %s", async (name) => {
  const missing = await isMissing((await testStore(name)).missing());

  test.skipIf(missing)("asks for what its ticks are charged with, and for few requests in every situation", async () => {
    const { tick, idleTick } = name === "quorum" ? OF_A_MEMBER : USAGES[name];
    const { decides, leads, doesAnOccurrence } = mostRequests(name);
    const counts = await functionRequests(name, 1);
    for (const [situation, charged] of [
      ["a whole invocation, warm (oncePerTick, fresh occurrence)", tick],
      ["cold, done already (oncePerTick)", idleTick],
    ] as const) {
      const [sent] = counts.get(situation)!;
      // A quorum does not ask its slowest member where two have answered.
      if (name !== "quorum") expect(sent, situation).toEqual(charged);
      expect(sent!.reads, situation).toBeLessThanOrEqual(charged.reads);
      expect(sent!.writes, situation).toBeLessThanOrEqual(charged.writes);
    }
    for (const [situation, sent] of counts) {
      const whole = situation.includes("fresh occurrence") ? doesAnOccurrence : leads;
      const most = situation.startsWith("cold") ? decides : whole;
      for (const { reads, writes } of sent) expect.soft(reads + writes, situation).toBeLessThanOrEqual(most);
    }
  });
});
