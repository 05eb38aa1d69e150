import { ConfigurationError, Elector, MemoryLeaseStore, Observer, type LeaseStore } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { RecordService } from "./faulty-record-store.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const HOUR_MS = 3_600_000;

/** Returns a store that does not tell its clock, as a third party's may not. */
function mute(store: RecordLeaseStore): LeaseStore {
  return new Proxy<LeaseStore>(store, {
    get: (target, name) => {
      const value: unknown = name === "clock" ? undefined : Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

describe("a store and an elector that were given different clocks", () => {
  const world = new VirtualClock();
  const store = new MemoryLeaseStore({ clock: world });

  test("are refused at construction", () => {
    const clock = new ProcessClock(world);
    expect(() => new Elector({ store, election: ELECTION, clock })).toThrow(ConfigurationError);
    expect(() => new Observer({ store, election: ELECTION, clock })).toThrow("Give the clock to the store alone");
    expect(() => new Elector({ store: new MemoryLeaseStore(), election: ELECTION, clock })).toThrow(ConfigurationError);
  });

  test("would make two leaders: by a clock that is behind, a granted lease lasts for hours", async () => {
    const service = new RecordService(world);
    const behind = new ProcessClock(world, { wallOffsetMs: -HOUR_MS });
    behind.suspend();
    await world.advance(HOUR_MS);
    behind.resume();
    const records = service.connect("a");
    const a = new Elector({ store: mute(new RecordLeaseStore(records, { clock: world })), election: ELECTION, clock: behind });
    const b = new Elector({ store: new RecordLeaseStore(service.connect("b"), { clock: world }), election: ELECTION });
    const leadership = await a.campaign();
    const stopping = new AbortController();
    const running = b.run(untilAborted, { signal: stopping.signal });
    records.failAll({ kind: "lost" });

    await world.advance(2 * LEASE_MS);

    expect([leadership.isValid(), b.isLeader]).toEqual([true, true]);
    stopping.abort();
    await running;
    void leadership.release();
  });

  test("do not occur by default, because the elector uses its store's clock", async () => {
    const elector = new Elector({ store, election: ELECTION });
    await using leadership = await elector.campaign();
    const validMs = leadership.remainingMs();
    await world.advance(1_000);

    expect(leadership.remainingMs()).toBe(validMs - 1_000);
  });
});
