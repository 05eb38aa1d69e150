import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, expect, test } from "vitest";
import { Turn } from "../src/election/turn.ts";

let clock: VirtualClock;
let turn: Turn;

beforeEach(() => {
  clock = new VirtualClock();
  // Every delay drawn is the longest that there is.
  clock.random = () => 1;
  turn = new Turn(clock, 5_000);
});

test("before any request was timed the delay is a millisecond at most", () => {
  expect(turn.delayMs()).toBeCloseTo(1);
});

test("the longest delay is a few round trips, of which the last one counts for an eighth", () => {
  turn.tookMs(10);
  expect(turn.delayMs()).toBeCloseTo(34);
  turn.tookMs(18);
  expect(turn.delayMs()).toBeCloseTo(11 * 3.4);
});

test("it is a quarter of a second at most, and leaves the request its time of the attempt", () => {
  turn.tookMs(1_000);
  expect(turn.delayMs()).toBeCloseTo(250);

  const hasty = new Turn(clock, 100);
  hasty.tookMs(80);
  expect(hasty.delayMs()).toBeCloseTo(20);
  hasty.tookMs(8_000);
  expect(hasty.delayMs()).toBe(0);
});

test("it is drawn once for each term, and anew once the candidate has acted", () => {
  turn.tookMs(10);
  expect(turn.inMs(3)).toBeCloseTo(34);
  clock.freeze(30);
  expect(turn.inMs(3)).toBeCloseTo(4);
  expect(turn.inMs(4)).toBeCloseTo(34);
  clock.freeze(30);
  turn.taken();
  expect(turn.inMs(4)).toBeCloseTo(34);
});
