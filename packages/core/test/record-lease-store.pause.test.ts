import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

const REASON = "restoring the backup";

let clock: VirtualClock;
let service: RecordService;
let records: FaultyRecordStore;
let admin: RecordLeaseStore;
let holder: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  records = service.connect("admin");
  admin = new RecordLeaseStore(records, { clock });
  holder = new RecordLeaseStore(service.connect("a"), { clock });
});

function operations(from: number): string[] {
  return service.log.slice(from).map(({ operation }) => operation);
}

async function barKind(): Promise<string | undefined> {
  return (await admin.read(ELECTION))?.bar?.kind;
}

describe("a pause", () => {
  test("leaves the present leader and its nonce as they are, and outlives its release", async () => {
    const lease = await win(holder);
    const { nonce } = service.record(ELECTION) as { nonce: string };
    await expect(admin.pause(ELECTION, { reason: REASON })).resolves.toEqual({
      isNew: true,
      reason: REASON,
      sinceMs: clock.wallMs(),
    });

    expect(service.record(ELECTION)).toMatchObject({ nonce, termId: lease.termId });
    await expect(admin.read(ELECTION)).resolves.toMatchObject({ state: "unknown", bar: { kind: "pause", reason: REASON } });
    await expect(holder.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await holder.release(lease, LIMITS);
    await clock.advance(10 * LEASE_MS);
    await expect(holder.acquire(acquiring())).resolves.toMatchObject({ acquired: false, current: { bar: { kind: "pause" } } });
  });

  test("survives a break, which lifts every other blocker", async () => {
    const lease = await win(holder);
    await holder.release(lease, { ...LIMITS, holdMs: 60 * LEASE_MS });
    await admin.pause(ELECTION, { reason: REASON });

    await expect(admin.break(ELECTION, { reason: "the hold" })).resolves.toMatchObject({ broken: true });
    await expect(admin.break(ELECTION, { reason: "again" })).resolves.toMatchObject({
      broken: false,
      current: { bar: { kind: "pause" } },
    });

    await admin.resume(ELECTION);
    expect(await barKind()).toBeUndefined();
  });

  test.each([true, false])("does not end a held lease; a break ends it (immediate: %s)", async (immediate) => {
    const lease = await win(holder);
    await admin.pause(ELECTION, { reason: REASON });
    await expect(admin.break(ELECTION, { reason: "now", immediate })).resolves.toMatchObject({ broken: true });
    await expect(holder.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
    await clock.advance(2 * LEASE_MS);
    expect(await barKind()).toBe("pause");
  });

  test("refuses a transfer by name, and ends one that waits", async () => {
    const lease = await win(holder);
    const outcome = admin.transfer(ELECTION, "b");
    await clock.settle();
    await admin.pause(ELECTION, { reason: REASON });
    await expect(clock.runUntil(outcome)).resolves.toBe("lost");
    await expect(admin.transfer(ELECTION, "b")).rejects.toMatchObject({
      code: "PAUSED",
      election: ELECTION,
      message: expect.stringContaining(REASON) as string,
    });
    await holder.release(lease, LIMITS);
  });

  test("keeps the first reason of an election that is already paused", async () => {
    await admin.pause(ELECTION, { reason: REASON });
    await expect(holder.pause(ELECTION, { reason: "another" })).resolves.toMatchObject({ isNew: false, reason: REASON });
  });

  test("survives a repair", async () => {
    await admin.pause(ELECTION, { reason: REASON });
    await admin.repair(ELECTION, { minTerm: 100, leaseDurationMs: LEASE_MS });
    expect(await barKind()).toBe("pause");
    await admin.resume(ELECTION);
    await holder.read(ELECTION);
    await clock.advance(LEASE_MS);
    await expect(win(holder)).resolves.toMatchObject({ term: 100 });
  });

  test.each(["\ud800", "r".repeat(501), 7 as never])("is refused for the reason %j, before any request", async (reason) => {
    await expect(admin.pause(ELECTION, { reason })).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(service.log).toHaveLength(0);
  });
});

describe("a resume", () => {
  test("leaves other blockers in force", async () => {
    const lease = await win(holder);
    await holder.release(lease, { ...LIMITS, holdMs: LEASE_MS });
    await admin.pause(ELECTION, { reason: REASON });
    await expect(admin.resume(ELECTION)).resolves.toEqual({ resumed: true });
    expect(await barKind()).toBe("hold");
  });

  test.each([
    ["no record", false, false],
    ["no pause", true, false],
    ["no pause, and a failover may undo the record", true, true],
  ])("writes nothing if there is %s", async (_, isHeld, showsUndurable) => {
    if (isHeld) await win(holder);
    admin = new RecordLeaseStore(service.connect("admin", { showsUndurable }), { clock });
    const [before, from] = [service.record(ELECTION), service.log.length];

    await expect(admin.resume(ELECTION)).resolves.toEqual({ resumed: false });
    expect(service.record(ELECTION)).toEqual(before);
    expect(operations(from)).toEqual(["get"]);
  });
});

describe("a lost reply", () => {
  test.each(["pause", "resume"] as const)("of a %s is resolved by reading", async (verb) => {
    if (verb === "resume") await holder.pause(ELECTION, { reason: REASON });
    records.failNext("put", { kind: "unanswered" });
    const from = service.log.length;
    const call = verb === "pause" ? admin.pause(ELECTION, { reason: REASON }) : admin.resume(ELECTION);
    await expect(clock.runUntil<unknown>(call)).resolves.toMatchObject(verb === "pause" ? { isNew: true } : { resumed: true });
    expect(operations(from)).toEqual(["get", "put", "get"]);
  });

  test.each(["pause", "resume"] as const)(
    "of a %s counts once it is written again, where a failover may undo it",
    async (verb) => {
      service = new RecordService(clock);
      records = service.connect("admin", { showsUndurable: true });
      admin = new RecordLeaseStore(records, { clock });
      if (verb === "resume") await admin.pause(ELECTION, { reason: REASON });
      records.failNext("put", { kind: "unanswered" });
      const from = service.log.length;
      const call = verb === "pause" ? admin.pause(ELECTION, { reason: REASON }) : admin.resume(ELECTION);
      await expect(clock.runUntil<unknown>(call)).resolves.toMatchObject(verb === "pause" ? { isNew: true } : { resumed: true });
      expect(operations(from)).toEqual(["get", "put", "get", "put"]);
    },
  );

  test("that cannot be resolved is an error that says so", async () => {
    for (let tries = 0; tries < 4; tries += 1) records.failNext("put", { kind: "lost" });
    await expect(clock.runUntil(admin.pause(ELECTION, { reason: REASON }))).rejects.toMatchObject({
      operation: "pause",
      mayHaveBeenApplied: true,
      // The cause, and then the advice.
      message: expect.stringMatching(/ is unknown: .+\. Repeat it\.$/) as string,
    });
  });
});

test.each(["pause", "resume"] as const)(
  "a %s whose writes always meet others ends after four, and names itself",
  async (operation) => {
    const contested = new MemoryRecordStore();
    const store = new RecordLeaseStore(contested);
    if (operation === "resume") await store.pause("e", { reason: "r" });
    let puts = 0;
    contested.put = () => {
      puts += 1;
      return Promise.resolve({ stored: false });
    };
    const call = operation === "pause" ? store.pause("e", { reason: "r" }) : store.resume("e");
    await expect(call).rejects.toThrow(expect.objectContaining({ code: "STORE_CONFLICT", operation }));
    expect(puts).toBe(4);
  },
);
