import { MemoryRecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { NOTHING } from "../src/member-state.ts";
import { MemberSession } from "../src/member-session.ts";
import { Member } from "../src/member.ts";

function world() {
  const clock = new VirtualClock();
  const link = new MemberSession(new Member("a", new MemoryRecordStore(clock), ["a", "b", "c"], clock), clock);
  return { clock, link, untilMs: clock.monotonicMs() + 100 };
}

describe("a member's requests", () => {
  test("are sent one after another, each with the time that is left", async () => {
    const { clock, link, untilMs } = world();
    const first = Promise.withResolvers<string>();
    const told: string[] = [];
    const sent = [
      link.send("e", untilMs, async (timeoutMs) => {
        told.push(`first with ${timeoutMs}`);
        return await first.promise;
      }),
      link.send("e", untilMs, async (timeoutMs) => {
        told.push(`second with ${timeoutMs}`);
        return "two";
      }),
    ];
    await clock.advance(40);
    expect(told).toEqual(["first with 100"]);
    first.resolve("one");
    await expect(Promise.all(sent)).resolves.toEqual(["one", "two"]);
    expect(told).toEqual(["first with 100", "second with 60"]);
  });

  test("continue after one that failed", async () => {
    const { link, untilMs } = world();
    await expect(link.send("e", untilMs, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(link.send("e", untilMs, () => Promise.resolve("yes"))).resolves.toBe("yes");
  });

  test("that would begin too late are not sent, and do not block later ones", async () => {
    const { clock, link, untilMs } = world();
    const first = Promise.withResolvers<string>();
    const sent: string[] = [];
    const slow = link.send("e", untilMs, () => first.promise);
    const late = link.send("e", untilMs, async () => void sent.push("late"));
    const later = link.send("e", untilMs + 50, async () => void sent.push("later"));
    await clock.advance(100);
    first.resolve("at last");
    await slow;
    await expect(late).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      store: "a",
      operation: "wait",
      election: "e",
      mayHaveBeenApplied: false,
      message: "a has not answered the request before this one.",
    });
    await later;
    expect(sent).toEqual(["later"]);
  });
});

test("a member has forgotten if it shows less than it is known to have promised", () => {
  const { link } = world();
  const promised = (round: number) => ({ ...NOTHING, promised: { round, proposer: "x" } });
  expect(link.isBehind(NOTHING)).toBe(false);
  link.learn({ round: 5, proposer: "x" });
  link.learn({ round: 3, proposer: "x" });
  expect([NOTHING, promised(4), promised(5), promised(6)].map((kept) => link.isBehind(kept))).toEqual([true, true, false, false]);
});
