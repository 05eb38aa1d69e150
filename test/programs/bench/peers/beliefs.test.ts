import { expect, test } from "vitest";
import { spellsOf } from "./beliefs.ts";

const leads = (atMs: number) => ({ event: "leads", atMs }) as const;
const noMore = (lastMs: number) => ({ event: "leads-no-more", lastMs, atMs: lastMs + 5 }) as const;

test("a spell lasts from the first to the last time that a process believed, and the last one for as long as it runs", () => {
  const lines = [leads(10), noMore(20), leads(30)];
  expect(spellsOf(lines, 100)).toEqual([
    { fromMs: 10, toMs: 20 },
    { fromMs: 30, toMs: 100 },
  ]);
});

test("time in which a process did not run is in no spell, and what it believes after that is a new one", () => {
  const thawed = (leadsStill: boolean) => ({ event: "thawed", lastMs: 50, atMs: 90, leads: leadsStill }) as const;
  expect(spellsOf([leads(10), thawed(false)], 100)).toEqual([{ fromMs: 10, toMs: 50 }]);
  expect(spellsOf([leads(10), thawed(true), noMore(95)], 100)).toEqual([
    { fromMs: 10, toMs: 50 },
    { fromMs: 90, toMs: 95 },
  ]);
});
