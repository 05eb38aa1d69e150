import { Elector, measureElections, MemoryLeaseStore, type StoreMembers } from "@leasehold/core";
import { membersText } from "@leasehold/core/provider";
import { expect, test } from "vitest";

const MEMBERS: StoreMembers = {
  total: 3,
  needed: 2,
  absent: [{ name: "c", why: "does not answer", forMs: 12_900 }],
};

test("says which members do not count, and nothing where all do", () => {
  expect(membersText(MEMBERS, "servers")).toBe("2 of 3 servers count: c does not answer, since 12 s at least.");
  expect(membersText({ ...MEMBERS, absent: [] }, "servers")).toBeUndefined();
});

test("the health and the figures of an elector tell of its store's members", async () => {
  const meters = { transition: () => {}, renewal: () => {}, takeover: () => {}, overrun: () => {}, request: () => {} };
  const measurement = measureElections(meters);
  const store = Object.assign(new MemoryLeaseStore(), { members: MEMBERS });
  const elector = new Elector({ store, election: "e", logger: false });
  await using _ = await elector.campaign();
  expect(elector.health()).toMatchObject({ leading: true, members: MEMBERS });
  expect(measurement.elections()).toMatchObject([{ election: "e", absentMembers: 1 }]);
  measurement.stop();
  expect(new Elector({ store: new MemoryLeaseStore(), election: "e" }).health()).not.toHaveProperty("members");
});
