import { Elector, MemoryLeaseStore } from "@leasehold/core";
import { electionMetrics } from "@leasehold/core/diagnostics";
import { type StoreMember, membersText } from "@leasehold/core/provider";
import { expect, test } from "vitest";

const B: StoreMember = { name: "b", store: "sql", counts: true, forMs: 60_000, waitsFor: undefined };
const C: StoreMember = { ...B, name: "c", counts: false, forMs: 12_900, waitsFor: "it does not answer." };
const MEMBERS = [{ ...B, name: "a" }, B, C];

test("the text names the members that do not count, and is undefined if all count", () => {
  expect(membersText(MEMBERS, "servers")).toBe("2 of 3 servers count. c has not counted for 12 s: it does not answer.");
  expect(membersText([B], "servers")).toBeUndefined();
});

test("the health and the metrics of an elector show its store's members", async () => {
  const meters = { transition: () => {}, renewal: () => {}, takeover: () => {}, overrun: () => {}, request: () => {} };
  const measurement = electionMetrics(meters);
  const store = Object.assign(new MemoryLeaseStore(), { members: () => MEMBERS });
  const elector = new Elector({ store, election: "e", logger: false });
  await using _ = await elector.campaign();
  expect(elector.health()).toMatchObject({ leading: true, members: MEMBERS });
  expect(measurement.elections()).toMatchObject([{ election: "e", absentMembers: 1 }]);
  measurement.stop();
  expect(new Elector({ store: new MemoryLeaseStore(), election: "e" }).health()).not.toHaveProperty("members");
});
