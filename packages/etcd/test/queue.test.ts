import { randomUUID } from "node:crypto";
import type { AcquireRequest, Lease, Place } from "@leasehold/core/provider";
import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EtcdFailure, EtcdLeaseStore, type Json } from "@leasehold/etcd";
import { header, scripted } from "./scripted.ts";
import { loseReply, wiredStore } from "./wire.ts";

const LIMITS = { timeoutMs: 5_000 };
/** The interval at which a place is read again, if nothing is pushed. */
const RHYTHM_MS = 250;
/** So long that only pushed events are noticed. */
const NEVER_MS = 60_000;

describe.skipIf(await isMissing(etcdMissing()))("a place in etcd's queue", () => {
  let etcd: Etcd;

  beforeAll(async () => {
    etcd = await startEtcd();
  });

  afterAll(async () => {
    await etcd.stop();
  });

  it("is taken once although the replies to its first requests are lost", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const request = asking();
    wire.onCall = async (_path, _body, send) => await loseReply(send);
    const queued = new Queued(store, request);
    // First the lease; then the key, on a lease that already exists.
    for (let tries = 0; tries < 2; tries += 1) {
      await expect(queued.next()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
      const [lost] = wire.paths.splice(0);
      expect(lost).toBe("/v3/lease/grant");
      wire.onCall = async (path, _body, send) => (path === "/v3/kv/txn" ? await loseReply(send) : await send());
    }
    wire.onCall = async (_path, _body, send) => await send();
    expect(await queued.next()).toMatchObject({ state: "vacant" });
    expect(await keysOf(etcd, request.election)).toHaveLength(1);
    const lease = await queued.acquire();
    expect(await keysOf(etcd, request.election)).toEqual([`${request.election}/${lease.termId}`]);
    await queued.stop();
  });

  it("does not remain if the reply to its first request is lost and it is left", async () => {
    const { store, wire } = wiredStore(etcd.url);
    const request = asking();
    wire.onCall = async (path, _body, send) => (path === "/v3/kv/txn" ? await loseReply(send) : await send());
    const queued = new Queued(store, request);
    await expect(queued.next()).rejects.toMatchObject({ mayHaveBeenApplied: true });
    expect(await keysOf(etcd, request.election)).toHaveLength(1);
    await queued.place.leave(LIMITS);
    expect(await keysOf(etcd, request.election)).toEqual([]);
    wire.paths.length = 0;
    await queued.place.leave(LIMITS);
    expect(wire.paths).toEqual([]);
  });

  it("distinguishes two candidates with one candidateId", async () => {
    const election = randomUUID();
    const [a, b] = [
      new Queued(wiredStore(etcd.url).store, asking({ election })),
      new Queued(wiredStore(etcd.url).store, asking({ election })),
    ];
    await a.next();
    const lease = await a.acquire();
    expect(await b.next()).toMatchObject({ state: "held", holder: "candidate" });
    expect(await b.place.acquire()).toMatchObject({ acquired: false, current: { term: lease.term } });
    for (const place of [a, b]) await place.stop();
  });

  it("is void once its lease is revoked by another client, and learns that at once", async () => {
    const election = randomUUID();
    const [a, b] = ["a", "b"].map(
      (candidateId) => new Queued(wiredStore(etcd.url).store, asking({ election, candidateId, renewIntervalMs: NEVER_MS })),
    ) as [Queued, Queued];
    await a.next();
    await a.acquire();
    await b.next();
    const ended = b.next();
    await etcdctl(etcd, ["lease", "revoke", await leaseAfter(etcd, election)]);
    expect(await ended).toBeUndefined();
    expect(await b.place.acquire()).toEqual({ acquired: false });
    await b.place.leave(LIMITS);
    await a.stop();
  });

  it("is not read every second if no watch gets through", async () => {
    const clock = new VirtualClock();
    let watches = 0;
    const own = { key: "", lease: "" };
    const kv = (key: string, revision: number, lease: string): Json => ({
      kvs: [{ key: Buffer.from(key).toString("base64"), create_revision: String(revision), lease }],
    });
    const transport = scripted((index, path) => {
      const { body } = transport.requests[index]!;
      if (path === "/v3/lease/grant") {
        own.lease = String(body["ID"]);
        own.key = `e/${BigInt(own.lease).toString(16)}`;
      }
      const ranges = [kv(own.key, 9, own.lease), {}, kv("e/1f", 8, "31"), kv("e/1f", 8, "31"), {}, {}];
      const responses = ranges.map((range) => ({ response_range: range }));
      return path === "/v3/kv/txn" ? { ...header(9), succeeded: true, responses } : { ...header(9), TTL: "180" };
    });
    transport.watch = async function* refused() {
      watches += 1;
      yield await Promise.resolve({ canceled: true });
    };
    const store = new EtcdLeaseStore({ transport, clock });
    const queued = new Queued(store, asking({ election: "e", leaseDurationMs: 180_000, renewIntervalMs: NEVER_MS }));
    const reading = queued.until(() => false);
    await clock.advance(3_600_000);
    // One watch at each read of its interval, and a few more at first.
    expect(watches).toBeLessThan(70);
    await queued.stop();
    await reading;
  });

  it("does not lead if an administrator has broken its turn before it acquired", async () => {
    const { store } = wiredStore(etcd.url);
    const request = asking();
    const queued = new Queued(store, request);
    await queued.next();
    expect(await wiredStore(etcd.url).store.break(request.election, { reason: "not now" })).toMatchObject({ broken: true });
    expect(await queued.place.acquire()).toEqual({ acquired: false });
    await queued.stop();
  });
});

describe("a place whose key is still on its way", () => {
  it("is kept alive by itself, soon again after a failure, and nothing continues once it was left", async () => {
    const clock = new VirtualClock();
    const sentMs: number[] = [];
    const transport = scripted((_, path) => {
      if (path !== "/v3/lease/keepalive") return { ...header(7), TTL: "10" };
      sentMs.push(clock.monotonicMs());
      if (sentMs.length === 2) throw new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 });
      return { result: { ...header(7), TTL: "10" } };
    });
    const call = transport.call.bind(transport);
    transport.call = (path, body, options) =>
      path === "/v3/kv/txn" ? new Promise<never>(() => undefined) : call(path, body, options);
    const queued = new Queued(new EtcdLeaseStore({ transport, clock }), asking());
    const turns = queued.next();
    const beganMs = clock.monotonicMs();
    await clock.advance(4 * RHYTHM_MS);
    expect(sentMs.map((ms) => (ms - beganMs) / RHYTHM_MS)).toEqual([1, 2, 2.25, 3.25]);
    await queued.stop();
    expect(await turns).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
  });
});

function asking(options: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    election: randomUUID(),
    candidateId: "candidate",
    leaseDurationMs: 10_000,
    renewIntervalMs: RHYTHM_MS,
    ...LIMITS,
    ...options,
  };
}

/** A candidate in the queue. */
class Queued {
  readonly store: LeaseStore;
  readonly place: Place;
  readonly #stopping = new AbortController();
  #turns: AsyncIterator<LeaseSnapshot> | undefined;
  #lease: Lease | undefined;

  constructor(store: LeaseStore, request: AcquireRequest) {
    this.store = store;
    this.place = (store as Required<LeaseStore>).join(request, { signal: this.#stopping.signal });
  }

  /** Returns the next of its turns; `undefined` if they have ended. */
  async next(): Promise<LeaseSnapshot | undefined> {
    try {
      this.#turns ??= this.place.turns()[Symbol.asyncIterator]();
      const { value, done } = await this.#turns.next();
      return done ? undefined : (value as LeaseSnapshot);
    } catch (error) {
      this.#turns = undefined;
      throw error;
    }
  }

  async until(matches: (snapshot: LeaseSnapshot) => boolean): Promise<void> {
    for (;;) {
      const snapshot = await this.next();
      if (!snapshot || matches(snapshot)) return;
    }
  }

  async acquire(): Promise<Lease> {
    const outcome = await this.place.acquire();
    if (!outcome.acquired) throw new Error(`It has not acquired: ${JSON.stringify(outcome)}`);
    this.#lease = outcome.lease;
    return outcome.lease;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#lease) await this.store.release(this.#lease, LIMITS);
    else await this.place.leave(LIMITS);
  }
}

async function keysOf(etcd: Etcd, election: string): Promise<readonly string[]> {
  const keys = await etcdctl(etcd, ["get", "--prefix", `${election}/`, "--keys-only", "--sort-by=CREATE"]);
  return keys.split("\n").filter((key) => key !== "");
}

/** Returns the lease, in hex, of the candidate behind the leader. */
async function leaseAfter(etcd: Etcd, election: string): Promise<string> {
  const [, second = ""] = await keysOf(etcd, election);
  return second.slice(election.length + 1);
}
