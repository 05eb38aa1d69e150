import { randomUUID } from "node:crypto";
import type { LeaseStore } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json } from "@leasehold/etcd";
import { loseReply, wiredStore, type Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 5_000 };

describe.skipIf(await isMissing(etcdMissing()))("the holder of a term on etcd", () => {
  let etcd: Etcd;

  beforeAll(async () => {
    etcd = await startEtcd();
  });

  afterAll(async () => {
    await etcd.stop();
  });

  it("has lost it once its lease is revoked, although a keep-alive succeeds", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const lease = await win(store);
    await etcdctl(etcd, ["lease", "revoke", lease.termId]);
    // This is the behaviour of etcd before 3.4.38, 3.5.23 and 3.6.5.
    wire.onCall = async (path, _body, send) => {
      const reply = await send();
      return path === "/v3/lease/keepalive" ? { ...reply, body: changed(reply.body, { TTL: "10" }) } : reply;
    };
    expect(await store.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "missing", barredUntilExpiry: false });
  });

  it("has lost it if a keep-alive returns no time", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const lease = await win(store);
    wire.onCall = async (path, _body, send) => {
      const reply = await send();
      return path === "/v3/lease/keepalive" ? { ...reply, body: changed(reply.body, { TTL: undefined }) } : reply;
    };
    expect(await store.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "missing" });
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

  it("reads through the endpoint that has kept its lease alive", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const lease = await win(store);
    const endpoints: unknown[] = [];
    wire.onCall = async (_path, _body, send, { endpoint }) => {
      endpoints.push(endpoint);
      return await send();
    };
    await store.renew(lease, LIMITS);
    expect(endpoints).toEqual([undefined, etcd.url]);
    await store.release(lease, LIMITS);
  });

  it("does not send keep-alives for a broken term", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const lease = await win(store);
    await store.break(lease.election, { reason: "maintenance" });
    wire.paths.length = 0;
    for (let looks = 0; looks < 2; looks += 1) {
      expect(await store.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
    }
    expect(wire.paths).toEqual(["/v3/lease/keepalive", "/v3/kv/txn", "/v3/kv/txn"]);
    expect(await store.release(lease, LIMITS)).toBe("released");
  });

  it("publishes only while the term is its own, and then learns how it was lost", async () => {
    const { store } = wiredStore(etcd.url);
    const broken = await win(store);
    await store.break(broken.election, { reason: "enough" });
    expect(await store.publish(broken, "late", LIMITS)).toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
    expect((await store.read(broken.election))?.value).toBeUndefined();
    const taken = await win(store);
    await etcdctl(etcd, ["lease", "revoke", taken.termId]);
    const next = await win(wiredStore(etcd.url).store, taken.election);
    expect(await store.publish(taken, "late", LIMITS)).toMatchObject({
      held: false,
      reason: "taken",
      explanation: `'a' has it, in term ${next.term}`,
    });
    for (const lease of [broken, taken])
      expect(await store.release(lease, LIMITS)).toBe(lease === broken ? "released" : "not-held");
  });

  it("keeps others out for the hold of its release, and no longer than the lease of the key", async () => {
    const { store } = wiredStore(etcd.url);
    const lease = await win(store);
    await store.publish(lease, "of the term", LIMITS);
    await store.release(lease, { ...LIMITS, holdMs: 99_001 });
    const { bar, ...seen } = (await wiredStore(etcd.url).store.read(lease.election)) ?? {};
    expect(seen).toEqual({ election: lease.election, state: "vacant", term: lease.term, leaseDurationMs: 10_000 });
    expect(bar).toMatchObject({ kind: "hold" });
    const { leftMs = 0 } = bar as { readonly leftMs?: number };
    expect(leftMs).toBeGreaterThan(10_000);
    expect(leftMs).toBeLessThanOrEqual(101_000);
    expect(await store.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "missing", explanation: "it was released" });
  });

  it("learns the reason of an immediate break", async () => {
    const { store } = wiredStore(etcd.url);
    const lease = await win(store);
    await store.break(lease.election, { reason: "at once", immediate: true });
    expect(await store.renew(lease, LIMITS)).toMatchObject({
      held: false,
      reason: "broken",
      barredUntilExpiry: false,
      explanation: expect.stringContaining("at once") as string,
    });
    expect(await store.release(lease, LIMITS)).toBe("not-held");
  });

  it("leaves nothing behind: neither a key nor a lease", async () => {
    const { store } = wiredStore(etcd.url);
    const lease = await win(store);
    expect(await leases(etcd)).toContain(lease.termId);
    await store.release(lease, LIMITS);
    expect(await etcdctl(etcd, ["get", "--prefix", `${lease.election}/`])).toBe("");
    expect(await etcdctl(etcd, ["get", "--prefix", `.leasehold/${lease.election}/`])).toBe("");
    expect(await leases(etcd)).not.toContain(lease.termId);
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

  it("does not block itself if the reply to its acquisition was lost", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const election = randomUUID();
    wire.onCall = async (path, _body, send) => {
      if (path === "/v3/lease/revoke") throw new Error("no revocation gets through");
      return path === "/v3/kv/txn" && wire.paths.includes("/v3/lease/grant") ? await loseReply(send) : await send();
    };
    await expect(win(store, election)).rejects.toMatchObject({ mayHaveBeenApplied: true });
    const other = wiredStore(etcd.url).store;
    expect(await other.read(election)).toMatchObject({ state: "held" });
    wire.onCall = async (_path, _body, send) => await send();
    // The process revokes the lease of its own earlier attempt when it reads it.
    const lease = await win(store, election);
    await store.release(lease, LIMITS);
  });

  it("leads although the reply to its grant was lost", async () => {
    const { store, wire } = wiredStore(etcd.url);
    wire.onCall = async (path, _body, send) => (path === "/v3/lease/grant" ? await loseReply(send) : await send());
    const lease = await win(store);
    await store.release(lease, LIMITS);
  });
});

async function win(store: LeaseStore, election: string = randomUUID()): Promise<Lease> {
  const outcome = await store.acquire({ election, candidateId: "a", leaseDurationMs: 10_000, renewIntervalMs: 3_000, ...LIMITS });
  if (!outcome.acquired) throw new Error(`It has not acquired: ${JSON.stringify(outcome)}`);
  return outcome.lease;
}

function changed(body: Json, fields: Json): Json {
  return { result: { ...(body["result"] as Json), ...fields } };
}

async function transact(wire: Wire, transaction: Json): Promise<boolean> {
  const { body } = await wire.call("/v3/kv/txn", transaction, { signal: new AbortController().signal });
  return body["succeeded"] === true;
}

/** Returns the leases at etcd, in hex, without the zeros that etcdctl puts before them. */
async function leases(etcd: Etcd): Promise<readonly string[]> {
  return (await etcdctl(etcd, ["lease", "list"])).split("\n").map((line) => line.replace(/^0+/, ""));
}
