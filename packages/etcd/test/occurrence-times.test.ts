import type { OccurrenceStore, AcquireOutcome, Lease } from "@leasehold/core/provider";
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualEtcd, writes } from "./virtual-etcd.ts";
import { loseReply, type Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 1_000 };
/** A sixteenth of the retention is a second. */
const RETENTION_MS = 16_000;

describe("an occurrence on etcd, in time", () => {
  let etcd: VirtualEtcd;
  let occurrences: OccurrenceStore;
  let wire: Wire;
  /** The durations of the granted leases, in seconds. */
  let granted: number[];

  beforeEach(() => {
    etcd = new VirtualEtcd();
    ({ occurrences, wire } = connect());
    granted = [];
    wire.onCall = async (path, body, send) => {
      if (path === "/v3/lease/grant") granted.push(Number(body["TTL"]));
      return await send();
    };
  });

  function connect(retentionMs: number = RETENTION_MS): { readonly occurrences: OccurrenceStore; readonly wire: Wire } {
    const { store, wire: way } = etcd.connect();
    return { occurrences: store.occurrences("e", { retentionMs }), wire: way };
  }

  async function attempt(election: string, by: OccurrenceStore = occurrences, leaseDurationMs = 5_000): Promise<AcquireOutcome> {
    const request = { election, candidateId: "a", leaseDurationMs, renewIntervalMs: 1_000, expiry: "store-clock", ...LIMITS };
    return await etcd.run(by.acquire(request as Parameters<OccurrenceStore["acquire"]>[0]));
  }

  async function claim(election: string, leaseDurationMs?: number): Promise<Lease> {
    const outcome = await attempt(election, occurrences, leaseDurationMs);
    if (!outcome.acquired) throw new Error(`It has not been claimed: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  it("has a store that states its capabilities", () => {
    expect(occurrences.capabilities).toMatchObject({
      maxValueBytes: 65_536,
      fence: "atomic",
      storeClock: { toleranceMs: 2_500, exact: true },
    });
  });

  it("may be tried again once its mark is gone, and not before, by a process that has never read it", async () => {
    await claim("one");
    // The mark is gone at most half a second after its end.
    for (const [ms, acquired] of [
      [4_900, false],
      [700, true],
    ] as const) {
      await etcd.clock.advance(ms);
      expect(await attempt("one", connect().occurrences)).toMatchObject({ acquired });
    }
  });

  it("is as old as the longest of its marks that are gone, whatever other occurrences' marks say", async () => {
    await claim("one");
    await etcd.clock.advance(4_900);
    expect((await etcd.run(connect().occurrences.read("one")))?.ageMs?.[0]).toBe(0);
    await claim("two");
    await etcd.clock.advance(700);
    expect((await etcd.run(connect().occurrences.read("one")))?.ageMs?.[0]).toBe(5_000);
    expect((await etcd.run(connect().occurrences.read("two")))?.ageMs?.[0]).toBe(0);
  });

  it("has a mark that lasts as long as its lease, rounded up to whole seconds", async () => {
    await claim("one", 5_001);
    expect(granted).toEqual([6, 17]);
    expect(etcd.under(".leasehold/e/ticks/marks/one/")).toEqual([expect.stringMatching(/^[^/]+\/5001$/)]);
  });

  it("shares a lease with all writes within a sixteenth of the retention; later writes get another lease", async () => {
    const leaseOf = (name: string): string => etcd.key(`.leasehold/e/ticks/records/${name}`)?.lease ?? "";
    const { store, wire: way } = etcd.connect();
    way.onCall = wire.onCall;
    for (const [name, waitMs] of [
      ["one", 0],
      ["two", 999],
      ["three", 1],
    ] as const) {
      await etcd.clock.advance(waitMs);
      // Each process creates a store for each occurrence.
      await attempt(name, store.occurrences("e", { retentionMs: RETENTION_MS }));
    }
    expect(leaseOf("two")).toBe(leaseOf("one"));
    expect(leaseOf("three")).not.toBe(leaseOf("one"));
    expect(granted).toEqual([5, 17, 5, 5, 17]);
  });

  it("is kept for the retention, rounded up to whole seconds", async () => {
    const { occurrences: short, wire: way } = connect(1_600);
    way.onCall = wire.onCall;
    await attempt("one", short);
    expect(granted).toEqual([5, 2]);
  });

  it("is proved to be writable by one write that needs no lease", async () => {
    await etcd.run(occurrences.check({ election: "one" }));
    expect(granted).toEqual([]);
    expect(etcd.under("")).toEqual([]);
  });

  it("has not changed if the reply to a read is lost; after a lost reply to a write, the next read shows the outcome", async () => {
    wire.onCall = async (_path, _body, send) => await loseReply(send);
    await expect(attempt("one")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    wire.onCall = async (_path, body, send) => (writes(body) ? await loseReply(send) : await send());
    expect(await attempt("one")).toMatchObject({ acquired: true });
  });

  it("has not changed if the reply to a grant is lost, because a lease without a key has no effect", async () => {
    wire.onCall = async (path, _body, send) => (path === "/v3/lease/grant" ? await loseReply(send) : await send());
    await expect(attempt("one")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
  });

  it.each(["null", "5", '{"leaseDurationMs":1000}', '{"leaseDurationMs":"1","holdMs":null}'])(
    "is refused where %s lies in its place",
    async (text) => {
      etcd.service.keys.put(".leasehold/e/ticks/records/one", text, "0");
      await expect(attempt("one")).rejects.toMatchObject({ code: "FOREIGN_RECORD" });
    },
  );

  it("takes a read, a write, and the leases that the write needs; its end takes one write", async () => {
    const paths = (): readonly string[] => wire.paths.splice(0).map((path) => path.slice(path.lastIndexOf("/") + 1));
    const lease = await claim("one");
    expect(paths()).toEqual(["txn", "grant", "grant", "txn"]);
    expect(await etcd.run(occurrences.complete(lease, LIMITS))).toBe("released");
    expect(paths()).toEqual(["txn"]);
    expect(await etcd.run(occurrences.break("two", { reason: "none" }))).toMatchObject({ broken: false });
    await claim("three");
    wire.paths.length = 0;
    expect(await etcd.run(occurrences.break("three", { reason: "stuck" }))).toMatchObject({ broken: true });
    // An administrator's write does not restart an age: no mark is written anew.
    expect(paths()).toEqual(["txn", "txn"]);
  });

  it("can be fenced by a condition on its key", async () => {
    const lease = await claim("one");
    const { store } = etcd.connect();
    const fence = store.occurrences("e", { retentionMs: RETENTION_MS }).fence(lease);
    expect(etcd.service.admits(fence)).toBe(true);
    await etcd.run(occurrences.release(lease, LIMITS));
    expect(etcd.service.admits(fence)).toBe(false);
  });

  it("is fenced by its term during an attempt, and has no fence after that", async () => {
    const lease = await claim("one");
    expect(etcd.key(".leasehold/e/ticks/fences/one")?.value).toBe(`${lease.term} ${lease.termId}`);
    await etcd.run(occurrences.release(lease, LIMITS));
    expect(etcd.key(".leasehold/e/ticks/fences/one")).toBeUndefined();
  });

  it("is written on another lease after a failed write", async () => {
    await claim("one");
    let isRefused = false;
    const { onCall } = wire;
    wire.onCall = async (path, body, send, options) => {
      if (isRefused || !writes(body)) return await onCall(path, body, send, options);
      isRefused = true;
      return await loseReply(() => Promise.resolve({ body: {}, endpoint: "" }));
    };
    await expect(attempt("two")).rejects.toMatchObject({ operation: "put", mayHaveBeenApplied: true });
    await claim("three");
    expect(granted.filter((seconds) => seconds === 17)).toHaveLength(2);
  });
});
