import { randomUUID } from "node:crypto";
import type { LeaseStore } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json } from "@leasehold/etcd";
import { wiredStore, type Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 5_000 };

describe.skipIf(await isMissing(etcdMissing()))("the holder of a term on etcd", () => {
  let etcd: Etcd;

  beforeAll(async () => {
    etcd = await startEtcd();
  });

  afterAll(async () => {
    await etcd.stop();
  });

  it("has not renewed if the members elected a leader meanwhile; the next renewal succeeds", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const lease = await win(store);
    wire.onCall = async (path, _body, send) => {
      const reply = await send();
      if (path === "/v3/lease/keepalive") return reply;
      const header = { ...(reply.body["header"] as Json), raft_term: "1000" };
      return { ...reply, body: { ...reply.body, header } };
    };
    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: true });
    wire.onCall = async (_path, _body, send) => await send();
    expect(await store.renew(lease, LIMITS)).toMatchObject({ held: true });
    await store.release(lease, LIMITS);
  });

  it("is fenced by two conditions, which a release with a hold and a break make false while the key still exists", async () => {
    const { store, wire } = wiredStore(etcd.url);
    for (const end of ["hold", "break"]) {
      const lease = await win(store);
      const guarded = async (): Promise<boolean> => await transact(wire, { compare: store.fence(lease), success: [] });
      expect(await guarded()).toBe(true);
      if (end === "hold") await store.release(lease, { ...LIMITS, holdMs: 10_000 });
      else await store.break(lease.election, { reason: "stop" });
      expect((await etcdctl(etcd, ["get", "--prefix", `${lease.election}/`, "--keys-only"])).trim()).not.toBe("");
      expect(await guarded()).toBe(false);
    }
  });

  it("stays fenced by its hold if a break that found it leading arrives between the release and the revocation", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const admin = wiredStore(etcd.url);
    const lease = await win(store);
    const released = Promise.withResolvers<void>();
    const broken = Promise.withResolvers<void>();
    wire.onCall = async (path, _body, send) => {
      if (path === "/v3/lease/revoke") {
        released.resolve();
        await broken.promise;
      }
      return await send();
    };
    let release: Promise<unknown> | undefined;
    admin.wire.onCall = async (_path, body, send) => {
      const isBreaking = (body["compare"] as readonly Json[] | undefined)?.length;
      if (!isBreaking || release) return await send();
      release = store.release(lease, { ...LIMITS, holdMs: 60_000 });
      await released.promise;
      return await send().finally(broken.resolve);
    };
    // Only the hold is left to break.
    expect(await admin.store.break(lease.election, { reason: "stop" })).toEqual({ broken: true, term: lease.term });
    expect(await release).toBe("released");
    expect(await transact(wire, { compare: store.fence(lease), success: [] })).toBe(false);
    expect(await store.read(lease.election)).toMatchObject({ state: "vacant", term: lease.term });
  });
});

async function win(store: LeaseStore, election: string = randomUUID()): Promise<Lease> {
  const outcome = await store.acquire({ election, candidateId: "a", leaseDurationMs: 10_000, renewIntervalMs: 3_000, ...LIMITS });
  if (!outcome.acquired) throw new Error(`It has not acquired: ${JSON.stringify(outcome)}`);
  return outcome.lease;
}

async function transact(wire: Wire, transaction: Json): Promise<boolean> {
  const { body } = await wire.call("/v3/kv/txn", transaction, { signal: new AbortController().signal });
  return body["succeeded"] === true;
}
