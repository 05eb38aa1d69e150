import { randomUUID } from "node:crypto";
import type { Lease } from "@leasehold/core/provider";
import { EtcdFailure, type EtcdLeaseStore, type Json } from "@leasehold/etcd";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loseReply, wiredStore, type Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 5_000 };
const DAY_S = 86_400;
const RETENTION_MS = DAY_S * 1_000;

type Occurrences = ReturnType<EtcdLeaseStore["occurrences"]>;

describe.skipIf(await isMissing(etcdMissing()))("the occurrences of a schedule on etcd", () => {
  let etcd: Etcd;

  beforeAll(async () => {
    etcd = await startEtcd();
  });

  afterAll(async () => {
    await etcd.stop();
  });

  it("are fenced while an attempt lasts", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const occurrences = store.occurrences(randomUUID(), { retentionMs: RETENTION_MS });
    const guarded = async (lease: Lease): Promise<boolean> =>
      await transact(wire, { compare: occurrences.fence(lease), success: [] });
    const first = await claim(occurrences, "one");
    const other = await claim(occurrences, "other");
    for (const lease of [first, other]) expect(await guarded(lease)).toBe(true);
    await occurrences.release(first, LIMITS);
    expect(await guarded(first)).toBe(false);
    const second = await claim(occurrences, "one");
    expect(await guarded(first)).toBe(false);
    expect(await guarded(second)).toBe(true);
    await occurrences.complete(second, LIMITS);
    for (const lease of [first, second]) expect(await guarded(lease)).toBe(false);
    expect(await guarded(other)).toBe(true);
  });

  it("are kept for the retention plus at most a sixteenth, on one lease for all writes within that sixteenth", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const schedule = randomUUID();
    for (const name of ["one", "two"]) await claim(store.occurrences(schedule, { retentionMs: RETENTION_MS }), name);
    // One lease for the records, and one for each claim.
    expect(wire.paths.filter((path) => path === "/v3/lease/grant")).toHaveLength(3);
    const leases = await leasesOf(etcd, `.leasehold/${schedule}/ticks/records/`);
    expect(leases).toHaveLength(2);
    expect(new Set(leases).size).toBe(1);
    const [, ttlS = "0"] = /granted with TTL\((\d+)s\)/.exec(await etcdctl(etcd, ["lease", "timetolive", leases[0] ?? ""])) ?? [];
    expect(Number(ttlS)).toBe(DAY_S + DAY_S / 16);
  });

  it("are written on another lease if that one is gone", async () => {
    const { store } = wiredStore(etcd.url);
    const schedule = randomUUID();
    const occurrences = store.occurrences(schedule, { retentionMs: RETENTION_MS });
    await claim(occurrences, "one");
    const [before = ""] = await leasesOf(etcd, `.leasehold/${schedule}/ticks/records/`);
    await etcdctl(etcd, ["lease", "revoke", before]);
    const lease = await claim(occurrences, "two");
    expect(await occurrences.complete(lease, LIMITS)).toBe("released");
  });

  it("may have been claimed if the reply was lost, and are then open to the same process at once", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const occurrences = store.occurrences(randomUUID(), { retentionMs: RETENTION_MS });
    const isWrite = (body: Json): boolean => JSON.stringify(body["success"]).includes("request_put");
    // One put, and the reads that show its outcome; their replies are lost as well.
    wire.onCall = async (path, body, send) => {
      if (path !== "/v3/kv/txn") return await send();
      if (isWrite(body)) return await loseReply(send);
      if (wire.paths.includes("/v3/lease/grant"))
        throw new EtcdFailure("socket hang up", { status: 0, socketCode: "ECONNRESET" });
      return await send();
    };
    await expect(claim(occurrences, "one")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
    wire.onCall = async (_path, _body, send) => await send();
    expect(await occurrences.read("one")).toMatchObject({ state: "vacant", term: 1 });
    expect(await occurrences.complete(await claim(occurrences, "one"), LIMITS)).toBe("released");
  });

  it("do not look younger after an administrator's break: the wait is as long as before", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const schedule = randomUUID();
    const occurrences = store.occurrences(schedule, { retentionMs: RETENTION_MS });
    await claim(occurrences, "one");
    const marks = await leasesOf(etcd, `.leasehold/${schedule}/ticks/marks/`);
    expect(marks).toHaveLength(1);
    wire.paths.length = 0;
    expect(await occurrences.break("one", { reason: "stuck" })).toEqual({ broken: true, term: 1 });
    expect(wire.paths).not.toContain("/v3/lease/grant");
    expect(await leasesOf(etcd, `.leasehold/${schedule}/ticks/marks/`)).toEqual(marks);
  });

  it("are refused if other data lies in their place", async () => {
    const schedule = randomUUID();
    const occurrences = wiredStore(etcd.url).store.occurrences(schedule, { retentionMs: RETENTION_MS });
    await etcdctl(etcd, ["put", `.leasehold/${schedule}/ticks/records/a%2Fb`, "no JSON"]);
    await expect(claim(occurrences, "a/b")).rejects.toMatchObject({ code: "FOREIGN_RECORD" });
  });
});

async function claim(occurrences: Occurrences, election: string): Promise<Lease> {
  const request = {
    election,
    candidateId: "a",
    leaseDurationMs: 10_000,
    renewIntervalMs: 3_000,
    expiry: "store-clock",
    ...LIMITS,
  } as const;
  const outcome = await occurrences.acquire(request);
  if (!outcome.acquired) throw new Error(`It has not been claimed: ${JSON.stringify(outcome)}`);
  return outcome.lease;
}

async function transact(wire: Wire, transaction: Json): Promise<boolean> {
  const { body } = await wire.call("/v3/kv/txn", transaction, { signal: new AbortController().signal });
  return body["succeeded"] === true;
}

/** Returns the leases, in hex, of the keys below a prefix. */
async function leasesOf(etcd: Etcd, prefix: string): Promise<readonly string[]> {
  const text = await etcdctl(etcd, ["get", "--prefix", prefix, "--write-out=fields"]);
  return [...text.matchAll(/^"Lease" : (\d+)$/gm)].map(([, digits = "0"]) => BigInt(digits).toString(16));
}
