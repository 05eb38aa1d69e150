import { randomUUID } from "node:crypto";
import type { Lease } from "@leasehold/core/provider";
import type { EtcdLeaseStore, Json } from "@leasehold/etcd";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wiredStore, type Wire } from "./wire.ts";

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
