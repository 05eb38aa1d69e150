import { ForeignRecordError, RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld } from "./election-world.ts";
import { RecordService } from "./faulty-record-store.ts";

const FOREIGN: readonly unknown[] = ["a note", { owner: "somebody", balance: 12 }, { schema: 2, term: 1 }, [], 7];

let clock: VirtualClock;
let service: RecordService;
let store: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  store = new RecordLeaseStore(service.connect("a"), { clock });
});

describe("foreign data is not ours", () => {
  test.each(FOREIGN)("%j is never overwritten, and the error names it", async (data) => {
    service.overwrite(ELECTION, data);
    const calls = [
      store.acquire(acquiring()),
      store.read(ELECTION),
      store.break(ELECTION, { reason: "test", immediate: true }),
      store.transfer(ELECTION, "b"),
    ];

    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "FOREIGN_RECORD", election: ELECTION } });
      expect(String((outcome as PromiseRejectedResult).reason)).toContain("the record in faulty");
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(ForeignRecordError);
    }
    expect(service.count("a", "put")).toBe(0);
  });

  test("a record that turns foreign under a known version is not overwritten either", async () => {
    await store.release(await win(store), LIMITS);
    service.overwrite(ELECTION, { owner: "somebody" });

    await store.acquire(acquiring()).catch(() => undefined);
    await store.acquire(acquiring()).catch(() => undefined);

    expect(service.record(ELECTION)).toEqual({ owner: "somebody" });
  });

  test("a record that turns foreign under its holder is neither renewed nor released", async () => {
    const lease = await win(store);
    service.overwrite(ELECTION, { owner: "somebody" });

    await expect(store.renew(lease, LIMITS)).rejects.toBeInstanceOf(ForeignRecordError);
    await expect(store.release(lease, LIMITS)).rejects.toBeInstanceOf(ForeignRecordError);
    expect(service.record(ELECTION)).toEqual({ owner: "somebody" });
  });

  test("an elector keeps polling without a write, reports the record, and leads once it is gone", async () => {
    const world = new ElectionWorld();
    world.service.overwrite(ELECTION, { owner: "somebody" });
    const a = world.candidate("a");
    const run = a.run();

    await world.clock.advance(LEASE_MS);
    expect(world.service.count("a", "put")).toBe(0);
    expect(a.events.all("storeFailed")[0]).toMatchObject({ error: { code: "FOREIGN_RECORD" } });

    world.service.remove(ELECTION);
    await world.clock.advance(2_000);
    expect(a.elector.isLeader).toBe(true);

    run.stop();
    await run.settled;
  });
});
