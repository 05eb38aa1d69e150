/** The times that a server expects of the others. */
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { Pace } from "../src/pace.ts";

test("holds answers for 50 ms, or for one and a half of the longest round trip if that is more", () => {
  const pace = new Pace(new VirtualClock());
  expect([pace.holdMs, pace.answerMs]).toEqual([50, 0]);
  pace.answered("b", 2);
  expect(pace.holdMs).toBe(50);
  pace.answered("c", 200);
  expect(pace.holdMs).toBe(300);
});

test("uses the median of the last five times", () => {
  const pace = new Pace(new VirtualClock());
  for (const ms of [100, 100, 900, 120, 120]) pace.answered("b", ms);
  expect(pace.holdMs).toBe(180);
  for (const ms of [200, 200, 200]) pace.answered("b", ms);
  expect(pace.holdMs).toBe(300);
});

test("expects for a claim its hold, and for each answer a round trip and the slowest sync, with room to spare", () => {
  const pace = new Pace(new VirtualClock());
  pace.answered("b", 100);
  pace.synced("a", 10);
  pace.synced("b", 20);
  expect(pace.answerMs).toBe(180);
  expect(pace.claimMs).toBe(150 + 4 * 180);
});

test("forgets a slow server that has not answered for a minute, and keeps the syncs of its own disk", async () => {
  const clock = new VirtualClock();
  const pace = new Pace(clock);
  pace.answered("slow", 400);
  pace.synced("slow", 200);
  pace.synced("own", 10);
  await clock.advance(30_000);
  pace.answered("b", 100);
  await clock.advance(29_999);
  expect([pace.holdMs, pace.answerMs]).toEqual([600, 900]);
  await clock.advance(1);
  expect([pace.holdMs, pace.answerMs]).toEqual([150, 165]);
});
