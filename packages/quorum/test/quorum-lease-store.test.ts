/** Tests what the constructor refuses, the store's capabilities, and leases on it. */
import { MemoryLeaseStore, timing } from "@leasehold/core";
import { MemoryRecordStore, type RecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumLeaseStore } from "../src/index.ts";

const store = (): MemoryRecordStore => new MemoryRecordStore();

test.each([
  [undefined, "members must be an object"],
  [null, "members must be an object"],
  ["a, b, c", "members must be an object"],
  [{}, "three or five members, not 0"],
  [{ a: store(), b: store() }, "three or five members, not 2"],
  [{ a: store(), b: store(), c: store(), d: store() }, "three or five members, not 4"],
  [{ a: store(), b: store(), c: {} }, "Member 'c' is no store that keeps records"],
  [{ a: store(), b: store(), c: null }, "Member 'c' is no store that keeps records"],
  [{ a: store(), b: store(), c: { get: () => undefined, capabilities: {} } }, "Member 'c' is no store that keeps records"],
  [{ a: store(), b: store(), c: { put: () => undefined, capabilities: {} } }, "Member 'c' is no store that keeps records"],
  [{ a: store(), b: store(), c: { get: () => undefined, put: () => undefined } }, "Member 'c' is no store that keeps records"],
  [{ a: store(), b: store(), "": store() }, "name is empty"],
])("%j is refused before any request", (members, message) => {
  expect(() => new QuorumLeaseStore({ members: members as never })).toThrow(message);
});

test("an unknown option is refused", () => {
  const members = { a: store(), b: store(), c: store() };
  expect(() => new QuorumLeaseStore({ members, logers: false } as never)).toThrow("QuorumLeaseStore has no option 'logers'");
});

test("a value may be as long as the smallest member limit minus the quorum's note; five members are accepted", () => {
  const takes = (maxValueBytes: number): RecordStore => ({
    name: "m",
    capabilities: { ...store().capabilities, maxValueBytes },
    get: () => Promise.resolve(undefined),
    put: () => Promise.resolve({ stored: false }),
  });
  const bytesOf = (...bytes: number[]): number => {
    const members = Object.fromEntries(bytes.map((count, at) => [`m${at}`, takes(count)]));
    return new QuorumLeaseStore({ members, logger: false }).capabilities.maxValueBytes;
  };
  expect(bytesOf(65_536, 10_000, 30_000)).toBe(10_000 - 2_048);
  expect(bytesOf(65_536, 30_000, 30_000, 30_000, 4_096)).toBe(2_048);
  expect(bytesOf(65_536, 2_000, 30_000)).toBe(0);
});

test("it states its capabilities, accepts lease stores as members, and check() sends writes that all members refuse", async () => {
  const clock = new VirtualClock();
  const member = (): MemoryLeaseStore => new MemoryLeaseStore({ clock });
  const quorum = new QuorumLeaseStore({ members: { a: member(), b: member(), c: member() }, clock });

  expect(quorum.capabilities).toMatchObject({ expiry: "observed", watch: "poll", fence: "none", storeClock: { exact: true } });
  expect(timing({}, quorum.capabilities)).toMatchObject({ roundTripMs: 5_000 / 3 / 4 });
  await clock.runUntil(quorum.check({ election: "e" }));
  expect(await quorum.read("e")).toBeUndefined();

  const times = { leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };
  const won = await clock.runUntil(quorum.acquire({ election: "e", candidateId: "one", value: "é", ...times }));
  if (!won.acquired) return expect.fail("Nobody else competes.");
  expect(await quorum.renew(won.lease, { timeoutMs: 1_000 })).toMatchObject({ held: true });
  expect(await quorum.read("e")).toMatchObject({ state: "held", term: 1, holder: "one", value: "é" });
  expect(await quorum.release(won.lease, { timeoutMs: 1_000 })).toBe("released");
  expect(await clock.runUntil(quorum.acquire({ election: "e", candidateId: "two", ...times }))).toMatchObject({
    lease: { term: 2 },
  });
});
