/** The start of another server that counts, and its packets that count. */
import { expect, test } from "vitest";
import { PeerIncarnations } from "../src/peer-incarnations.ts";

/** The start at each server's address, and the number of requests for it. */
function world(present: Record<string, string | undefined>) {
  const asked: string[] = [];
  const starts = new PeerIncarnations(async (name) => {
    asked.push(name);
    return present[name];
  });
  return { asked, starts, present };
}

test("the start at the address is heard, and is asked for once", async () => {
  const { asked, starts } = world({ b: "one" });
  await expect(Promise.all([starts.isLive("b", "one"), starts.isLive("b", "other")])).resolves.toEqual([true, false]);
  expect(asked).toEqual(["b"]);
  await expect(starts.isLive("b", "one")).resolves.toBe(true);
  expect(asked).toEqual(["b"]);
});

test("another start is asked for each time, and replaces the live one if it is at the address", async () => {
  const { asked, starts, present } = world({ b: undefined });
  await expect(starts.isLive("b", "one")).resolves.toBe(false);
  present["b"] = "one";
  await expect(starts.isLive("b", "one")).resolves.toBe(true);
  present["b"] = "two";
  await expect(starts.isLive("b", "two")).resolves.toBe(true);
  await expect(starts.isLive("b", "one")).resolves.toBe(false);
  expect(asked).toHaveLength(4);
});

test("a packet is accepted once in any order, and not at all if many others have overtaken it", () => {
  const { starts } = world({});
  expect([1, 2, 5, 3, 5, 1, 4].map((id) => starts.isNew("b", id))).toEqual([true, true, true, true, false, false, true]);
  expect(starts.isNew("c", 1)).toBe(true);
  expect(starts.isNew("b", 2_000)).toBe(true);
  expect(starts.isNew("b", 2_000 - 1_024)).toBe(false);
  expect(starts.isNew("b", 2_000 - 1_023)).toBe(true);
  expect(starts.isNew("b", 2_000 - 1_023)).toBe(false);
});

test("each of very many packets is accepted once, also after old ids were dropped", () => {
  const { starts } = world({});
  const taken = (): number => Array.from({ length: 5_000 }, (_, at) => starts.isNew("b", at + 1)).filter(Boolean).length;
  expect([taken(), taken()]).toEqual([5_000, 0]);
});

test("the packets of a new start count anew, and those of the same start do not", () => {
  const { starts } = world({});
  starts.answers("b", "one");
  expect(starts.isNew("b", 7)).toBe(true);
  starts.answers("b", "one");
  expect(starts.isNew("b", 7)).toBe(false);
  starts.answers("b", "two");
  expect(starts.isNew("b", 7)).toBe(true);
});
