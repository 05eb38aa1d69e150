import { expect, test } from "vitest";
import { eventAt as at } from "./good-story.ts";
import { overlapMs, reignsOf, stretchesOf } from "./timeline.ts";

test("overlap is the time in which two or more spans hold at once", () => {
  expect(overlapMs([])).toBe(0);
  expect(overlapMs([{ from: 0, to: 10 }])).toBe(0);
  expect(
    overlapMs([
      { from: 5, to: 12 },
      { from: 0, to: 10 },
    ]),
  ).toBe(5);
  expect(
    overlapMs([
      { from: 0, to: 100 },
      { from: 10, to: 20 },
      { from: 15, to: 30 },
    ]),
  ).toBe(20);
});

test("a span that begins as another ends does not overlap it", () => {
  expect(
    overlapMs([
      { from: 10, to: 20 },
      { from: 0, to: 10 },
    ]),
  ).toBe(0);
});

test("a leader whose task has settled was valid until isValid() was last true", () => {
  const events = [
    at(0, "a", "started-leading", { validUntil: 13_500 }, 1),
    at(5_000, "a", "renewed", { validUntil: 18_500 }, 1),
    at(7_000, "a", "validity-ended", { lastValid: 7_000 }, 1),
    at(7_500, "b", "started-leading", { validUntil: 21_000 }, 2),
  ];
  expect(reignsOf(events)).toEqual([
    { candidate: "a", term: 1, from: 0, to: 7_000 },
    { candidate: "b", term: 2, from: 7_500, to: 21_000 },
  ]);
  expect(overlapMs(reignsOf(events))).toBe(0);
});

test("a leader that was killed counts until the end of its last renewal's validity", () => {
  const events = [
    at(0, "a", "started-leading", { validUntil: 13_500 }, 1),
    at(5_000, "a", "renewed", { validUntil: 18_500 }, 1),
    at(6_000, "a", "killed", {}, 1),
    at(18_000, "b", "started-leading", { validUntil: 31_500 }, 2),
  ];
  expect(reignsOf(events)[0]).toEqual({ candidate: "a", term: 1, from: 0, to: 18_500 });
  expect(overlapMs(reignsOf(events))).toBe(500);
});

test("a leader that was frozen counts no longer than its clock allowed, however long the freeze was", () => {
  const events = [
    at(0, "a", "started-leading", { validUntil: 13_500 }, 1),
    at(6_000, "a", "paused", {}, 1),
    at(30_000, "a", "resumed", {}, 1),
    at(30_001, "a", "validity-ended", { lastValid: 5_999 }, 1),
  ];
  expect(reignsOf(events)).toEqual([{ candidate: "a", term: 1, from: 0, to: 13_500 }]);
});

test("a thawed leader whose isValid() is true overlaps its successor", () => {
  const events = [
    at(0, "a", "started-leading", { validUntil: 13_500 }, 1),
    at(15_100, "b", "started-leading", { validUntil: 28_600 }, 2),
    at(16_010, "a", "validity-ended", { lastValid: 16_000 }, 1),
  ];
  expect(overlapMs(reignsOf(events))).toBe(900);
});

test("a leader that lost its lease early counts until it noticed the loss", () => {
  const events = [
    at(0, "a", "started-leading", { validUntil: 13_500 }, 1),
    at(4_000, "a", "validity-ended", { lastValid: 3_995 }, 1),
  ];
  expect(reignsOf(events)).toEqual([{ candidate: "a", term: 1, from: 0, to: 4_000 }]);
});

test("terms of the same candidate are separate", () => {
  const events = [
    at(0, "a", "started-leading", { validUntil: 13_500 }, 1),
    at(2_000, "a", "validity-ended", { lastValid: 2_000 }, 1),
    at(5_000, "a", "started-leading", { validUntil: 18_500 }, 3),
  ];
  expect(reignsOf(events).map(({ from, to }) => [from, to])).toEqual([
    [0, 2_000],
    [5_000, 18_500],
  ]);
});

test("the states of each worker follow one another, whatever the order of arrival", () => {
  const events = [
    at(1, "a", "spawned", { pid: 1 }),
    at(20, "a", "started-leading", { validUntil: 99 }, 1),
    at(10, "a", "standby", {}),
    at(12, "b", "standby", {}),
    at(30, "a", "paused", {}, 1),
    at(40, "a", "resumed", {}, 1),
    at(41, "a", "stopped-leading", { lost: true }, 1),
    at(41, "a", "standby", {}),
    at(50, "b", "killed", {}),
    at(51, "b", "exited", { code: null, signal: "SIGKILL" }),
  ];
  const stretches = stretchesOf(events, 60);
  expect(stretches.filter(({ candidate }) => candidate === "a").map(({ state, from, to }) => [state, from, to])).toEqual([
    ["standby", 10, 20],
    ["leading", 20, 30],
    ["frozen", 30, 40],
    ["standby", 40, 41],
    ["standby", 41, 60],
  ]);
  expect(stretches.filter(({ candidate }) => candidate === "b").map(({ state, from, to }) => [state, from, to])).toEqual([
    ["standby", 12, 50],
  ]);
});
