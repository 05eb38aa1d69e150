import { Elector, MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";

test("two electors, one leader, handover", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  const a = new Elector({ store, election: "e", candidateId: "a", clock });
  const b = new Elector({ store, election: "e", candidateId: "b", clock });
  const stopA = new AbortController();
  const log: string[] = [];
  const ra = a.run(async (l) => { log.push("a" + l.term); await new Promise((r) => l.signal.addEventListener("abort", r)); }, { signal: stopA.signal });
  await clock.advance(10);
  const stopB = new AbortController();
  const rb = b.run(async (l) => { log.push("b" + l.term); await new Promise((r) => l.signal.addEventListener("abort", r)); }, { signal: stopB.signal });
  await clock.advance(60_000);
  expect([a.isLeader, b.isLeader]).toEqual([true, false]);
  stopA.abort(); await clock.settle();
  await ra;
  await clock.settle();
  expect([a.isLeader, b.isLeader]).toEqual([false, true]);
  stopB.abort(); await rb;
  expect(log).toEqual(["a1", "b2"]);
  expect(clock.pendingTimers).toBe(0);
});
