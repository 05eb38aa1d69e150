/** The warnings about problems between servers, and how often they are given. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { VirtualClock } from "@leasehold/core/testing";
import { afterEach, beforeEach, expect, test, vi, type MockInstance } from "vitest";
import { DROPPED_CHANNEL, WarningLog } from "../src/warning-log.ts";

let warned: MockInstance<typeof process.emitWarning>;
beforeEach(() => void (warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)));
afterEach(() => warned.mockRestore());

const told = (): unknown[] => warned.mock.calls.map(([message]) => message);

test("the same warning is given once a minute, and others at once", async () => {
  const clock = new VirtualClock();
  const troubles = new WarningLog(clock, "a");
  troubles.tell("one");
  troubles.tell("one");
  troubles.tell("other");
  await clock.advance(59_999);
  troubles.tell("one");
  expect(told()).toEqual(["Voting server a: one", "Voting server a: other"]);
  expect(warned.mock.calls[0]?.[1]).toEqual({ type: "LeaseholdWarning", code: "LEASEHOLD_VOTING" });
  await clock.advance(1);
  troubles.tell("one");
  expect(told()).toHaveLength(3);
});

test("of very many different warnings, a hundred at most are remembered", () => {
  const troubles = new WarningLog(new VirtualClock(), "a");
  for (let at = 0; at < 100; at += 1) troubles.tell(`${at}`);
  troubles.tell("0");
  expect(told()).toHaveLength(100);
  troubles.tell("one more");
  troubles.tell("0");
  expect(told()).toHaveLength(102);
});

test("a missing answer is warned about after five seconds, and counts anew once it has ended", async () => {
  const clock = new VirtualClock();
  const troubles = new WarningLog(clock, "a");
  troubles.lasts("b", "b is silent");
  await clock.advance(4_999);
  troubles.lasts("b", "b is silent");
  troubles.lasts("c", "c is silent");
  expect(told()).toEqual([]);
  await clock.advance(1);
  troubles.lasts("b", "b is silent");
  expect(told()).toEqual(["Voting server a: b is silent"]);
  troubles.ends("b");
  await clock.advance(60_000);
  troubles.lasts("b", "b is silent");
  await clock.advance(4_999);
  troubles.lasts("b", "b is silent");
  expect(told()).toHaveLength(1);
});

test("dropped packets are counted by reason, and published", () => {
  const published: unknown[] = [];
  const hear = (message: unknown): void => void published.push(message);
  subscribe(DROPPED_CHANNEL, hear);
  const troubles = new WarningLog(new VirtualClock(), "a");
  expect(troubles.dropped).toEqual({});
  troubles.drops("signature");
  troubles.drops("replay", "b");
  troubles.drops("replay", "c");
  unsubscribe(DROPPED_CHANNEL, hear);
  expect(troubles.dropped).toEqual({ signature: 1, replay: 2 });
  expect(published).toEqual([
    { server: "a", reason: "signature", from: undefined },
    { server: "a", reason: "replay", from: "b" },
    { server: "a", reason: "replay", from: "c" },
  ]);
});
