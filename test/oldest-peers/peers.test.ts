import { expect, test } from "vitest";
import { OLDEST, PEERS, requireHere } from "./peers.ts";

test("the oldest versions that are installed are those with which the peers' ranges begin", () => {
  const beginnings = Object.fromEntries(
    [...PEERS.values()].flat().map(([name, range]) => [name, /^\^([\d.]+)/.exec(range)?.[1]]),
  );
  expect(beginnings).toEqual(Object.fromEntries(Object.entries(OLDEST).map(([name, { version }]) => [name, version])));
});

test.each(Object.entries(OLDEST))("%s is the oldest one", async (name, { alias }) => {
  const imported = (await import(name)) as { default: unknown };
  expect(imported.default).toBe(requireHere(alias));
});
