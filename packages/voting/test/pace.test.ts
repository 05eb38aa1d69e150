/** The times that a server expects of the others. */
import { expect, test } from "vitest";
import { Pace } from "../src/pace.ts";

test("holds answers for 50 ms, or for one and a half of the longest round trip if that is more", () => {
  const pace = new Pace();
  expect(pace.holdMs).toBe(50);
  pace.answered("b", 2);
  expect(pace.holdMs).toBe(50);
  pace.answered("c", 200);
  expect(pace.holdMs).toBe(300);
});

test("uses the median of the last five times", () => {
  const pace = new Pace();
  for (const ms of [100, 100, 900, 120, 120]) pace.answered("b", ms);
  expect(pace.holdMs).toBe(180);
  for (const ms of [200, 200, 200]) pace.answered("b", ms);
  expect(pace.holdMs).toBe(300);
});

test("expects for a claim its hold, and for each answer a round trip and the slowest sync, with room to spare", () => {
  const pace = new Pace();
  pace.answered("b", 100);
  pace.synced("a", 10);
  pace.synced("b", 20);
  expect(pace.answerMs).toBe(180);
  expect(pace.claimMs).toBe(150 + 4 * 180);
});
