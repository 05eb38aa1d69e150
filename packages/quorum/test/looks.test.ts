import { expect, test } from "vitest";
import { LatestReads } from "../src/latest-reads.ts";

test("of overlapping reads the one that began last decides, for each member", () => {
  const looks = new LatestReads<string | null>();
  const [first, second] = [looks.begin("a"), looks.begin("a")];
  looks.begin("b")("of b");
  expect(looks.get("a")).toBeUndefined();
  second(null);
  first("older");

  expect(looks.get("a")).toBeNull();
  expect([...looks]).toEqual([
    ["b", "of b"],
    ["a", null],
  ]);
});

test("a read that began earlier and ends earlier counts until the later one ends", () => {
  const looks = new LatestReads<string>();
  const [first, second] = [looks.begin("a"), looks.begin("a")];
  first("older");
  expect(looks.get("a")).toBe("older");
  second("newer");

  expect(looks.get("a")).toBe("newer");
});

test("a read that began before forget() does not bring its result back", () => {
  const looks = new LatestReads<string>();
  const before = looks.begin("a");
  looks.begin("a")("known");
  looks.forget("a");
  before("older");

  expect(looks.get("a")).toBeUndefined();
  expect([...looks]).toEqual([]);
  looks.begin("a")("newer");
  expect(looks.get("a")).toBe("newer");
});
