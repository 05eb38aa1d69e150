import { getEventListeners } from "node:events";
import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import type { AcquireOutcome, AcquireRequest, Place } from "@leasehold/core/provider";
import { EtcdFailure, type Json } from "@leasehold/etcd";
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualEtcd, writes } from "./virtual-etcd.ts";
import { loseReply, type Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 1_000 };
const LEASE_MS = 10_000;
const RHYTHM_MS = 3_000;

describe("a place in the queue, in virtual time", () => {
  let etcd: VirtualEtcd;

  beforeEach(() => {
    etcd = new VirtualEtcd();
  });

  function join(candidateId: string, wishes: Partial<AcquireRequest> = {}): Waiting {
    return new Waiting(etcd, candidateId, wishes);
  }

  it("has a candidate's key, and is kept alive while it exists", async () => {
    const a = join("a", { value: "http://a" });
    expect(await a.next()).toEqual({ election: "e", state: "vacant", term: 0 });
    const [hex = ""] = etcd.under("e/");
    expect(etcd.key(`e/${hex}`)?.value).toBe("http://a");
    expect(etcd.json(`.leasehold/e/candidates/${hex}`)).toMatchObject({ candidateId: "a", published: true });
    await etcd.clock.advance(10 * LEASE_MS);
    expect(etcd.under("e/")).toEqual([hex]);
    a.abandon();
    // The key lasts a whole lease from the last keep-alive.
    await etcd.clock.advance(LEASE_MS - RHYTHM_MS);
    expect(etcd.under("e/")).toEqual([hex]);
    await etcd.clock.advance(RHYTHM_MS + 500);
    expect(etcd.under("e/")).toEqual([]);
  });

  it("shows the election at once, and then once each interval after its last read, in its turn or not", async () => {
    const [a, b] = [join("a"), join("b")];
    for (const [who, state] of [
      [a, "vacant"],
      [b, "held"],
    ] as const) {
      const readMs: number[] = [];
      for (let turns = 0; turns < 3; turns += 1) {
        expect(await who.next()).toMatchObject({ state });
        readMs.push(etcd.clock.monotonicMs());
        // A caller that takes long over a turn waits for a shorter time.
        await etcd.clock.advance(turns * 100);
      }
      const [first = 0] = readMs;
      expect(readMs.map((ms) => ms - first)).toEqual([0, RHYTHM_MS, 2 * RHYTHM_MS]);
    }
  });

  it("becomes a lease that counts from before its acquisition's keep-alive, and uses one member for both requests", async () => {
    const a = join("a");
    await a.next();
    const sentMs = etcd.clock.monotonicMs();
    const endpoints: unknown[] = [];
    a.wire.onCall = async (path, _body, send, { endpoint }) => {
      endpoints.push([path, endpoint]);
      await new Promise<void>((resolve) => void etcd.clock.setTimer(resolve, 200));
      return await send();
    };
    const outcome = await a.acquire();
    expect(outcome).toMatchObject({ acquired: true, lease: { grantedAt: { monotonicMs: sentMs }, candidateId: "a" } });
    expect(endpoints).toEqual([
      ["/v3/lease/keepalive", undefined],
      ["/v3/kv/txn", "http://one"],
    ]);
    // The place is a lease now: nothing keeps the place alive or reads for it any more.
    a.wire.paths.length = 0;
    await etcd.clock.advance(2 * RHYTHM_MS);
    expect(a.wire.paths).toEqual([]);
    expect(await a.acquire()).toEqual({ acquired: false });
    await etcd.run(a.place.leave(LIMITS));
    expect(a.wire.paths).toEqual([]);
    expect(etcd.under("e/")).toHaveLength(1);
  });

  it("has one time limit for both requests of its acquisition", async () => {
    const a = join("a");
    await a.next();
    a.wire.onCall = async (_path, _body, send) => {
      await new Promise<void>((resolve) => void etcd.clock.setTimer(resolve, 600));
      return await send();
    };
    await expect(a.acquire()).rejects.toMatchObject({ code: "STORE_TIMEOUT", operation: "look" });
    a.wire.onCall = async (_path, _body, send) => await send();
    expect(await a.acquire()).toMatchObject({ acquired: true });
  });

  it("does not acquire before it was taken or after it was left, and sends nothing then", async () => {
    const a = join("a");
    expect(await a.acquire()).toEqual({ acquired: false });
    expect(a.wire.paths).toEqual([]);
    await a.next();
    await etcd.run(a.place.leave(LIMITS));
    a.wire.paths.length = 0;
    expect(await a.acquire()).toEqual({ acquired: false });
    expect(await a.next()).toBeUndefined();
    expect(a.wire.paths).toEqual([]);
  });

  it("does not acquire if a keep-alive finds no lease", async () => {
    const a = join("a");
    await a.next();
    a.wire.onCall = async (path, _body, send) => {
      const reply = await send();
      if (path !== "/v3/lease/keepalive") return reply;
      return { ...reply, body: { result: { ...(reply.body["result"] as Json), TTL: "0" } } };
    };
    expect(await a.acquire()).toEqual({ acquired: false });
    a.wire.paths.length = 0;
    expect(await a.acquire()).toEqual({ acquired: false });
    expect(a.wire.paths).toEqual([]);
  });

  it("does not acquire if the members elected another leader meanwhile, and may acquire the next time", async () => {
    const a = join("a");
    await a.next();
    a.wire.onCall = async (path, _body, send) => {
      const reply = await send();
      if (path === "/v3/lease/keepalive") etcd.service.electLeader(undefined);
      return reply;
    };
    await expect(a.acquire()).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: true });
    a.wire.onCall = async (_path, _body, send) => await send();
    expect(await a.acquire()).toMatchObject({ acquired: true });
  });

  it("does not acquire if it was left meanwhile", async () => {
    const a = join("a");
    await a.next();
    a.wire.onCall = async (path, body, send) => {
      const reply = await send();
      // Its own reads show that the place exists.
      if (path === "/v3/kv/txn" && !writes(body)) void a.place.leave(LIMITS);
      return reply;
    };
    expect(await a.acquire()).toEqual({ acquired: false });
  });

  it("does not acquire before its turn, and says who leads", async () => {
    const [a, b] = [join("a"), join("b")];
    for (const place of [a, b]) await place.next();
    expect(await b.acquire()).toMatchObject({ acquired: false, current: { state: "held", holder: "a" } });
    await etcd.run(a.place.leave(LIMITS));
    expect(await b.acquire()).toMatchObject({ acquired: true });
  });

  it("gets its turn as soon as the place before it ends, by its own read", async () => {
    const [a, b, c] = [join("a"), join("b"), join("c")];
    for (const place of [a, b, c]) await place.next();
    await etcd.clock.advance(10);
    const [ofB, ofC] = [b.pull(), c.pull()];
    await etcd.clock.advance(0);
    const endedMs = etcd.clock.monotonicMs();
    await etcd.run(a.place.leave(LIMITS));
    expect(await etcd.run(ofB)).toMatchObject({ value: { state: "vacant" } });
    expect(etcd.clock.monotonicMs()).toBe(endedMs);
    // The candidate behind it learns it only at its own interval.
    expect(await etcd.run(ofC)).toMatchObject({ value: { state: "held", holder: "b" } });
    expect(etcd.clock.monotonicMs()).toBeGreaterThan(endedMs + RHYTHM_MS / 2);
  });

  it("shows the last term before its own as the last one, whatever other calls of its process have read since", async () => {
    const a = join("a");
    expect(await a.next()).toMatchObject({ state: "vacant", term: 0 });
    const [hex = ""] = etcd.under("e/");
    const own = etcd.key(`e/${hex}`)?.createRevision ?? 0;
    expect(await etcd.run(a.store.read("e"))).toMatchObject({ term: own });
    expect(await a.next()).toMatchObject({ state: "vacant", term: own - 1 });
    // The reads of a place in its own turn are not reads of a term.
    const b = join("b");
    await b.next();
    await etcd.run(a.place.leave(LIMITS));
    await b.next();
    await etcd.run(b.place.leave(LIMITS));
    expect(await etcd.run(b.store.read("e"))).toMatchObject({ state: "vacant", term: own });
  });

  it("shows its own term once it has led", async () => {
    const a = join("a");
    await a.next();
    const outcome = (await a.acquire()) as Extract<AcquireOutcome, { acquired: true }>;
    await etcd.run(a.store.release(outcome.lease, LIMITS));
    expect(await etcd.run(a.store.read("e"))).toMatchObject({ state: "vacant", term: outcome.lease.term });
  });

  it("ends when its lease does, because a keep-alive that finds no lease wakes it", async () => {
    const [a, b] = [join("a"), join("b")];
    for (const place of [a, b]) await place.next();
    b.wire.onWatch = async function* deaf() {};
    const [, hex = ""] = etcd.under("e/");
    let reads = 0;
    b.wire.onCall = async (path, body, send) => {
      if (path === "/v3/kv/txn" && !writes(body)) reads += 1;
      return await send();
    };
    const ended = b.pull();
    await etcd.clock.advance(1);
    etcd.service.revoke(etcd.key(`e/${hex}`)?.lease ?? "");
    expect(await etcd.run(ended)).toEqual({ value: undefined, done: true });
    expect(reads).toBeLessThanOrEqual(2);
    b.wire.paths.length = 0;
    await etcd.clock.advance(10 * RHYTHM_MS);
    expect(b.wire.paths).toEqual([]);
  });

  it("is not read every second if no watch gets through", async () => {
    const long = { renewIntervalMs: 60_000, leaseDurationMs: 180_000 };
    const [a, b] = [join("a", long), join("b", long)];
    for (const place of [a, b]) await place.next();
    let watches = 0;
    b.wire.onWatch = async function* refused() {
      watches += 1;
      yield await Promise.resolve({ canceled: true });
    };
    const waiting = (async () => {
      while (!(await b.pull()).done);
    })();
    await etcd.clock.advance(3_600_000);
    b.abort();
    await etcd.run(waiting);
    // Two watches a minute, and a few more at first.
    expect(watches).toBeGreaterThan(50);
    expect(watches).toBeLessThan(130);
  });

  it("is kept alive while its key is on its way, soon again after a failure, and nothing continues once it was left", async () => {
    const a = join("a", { timeoutMs: 10 * LEASE_MS });
    const sentMs: number[] = [];
    a.wire.onCall = async (path, body, send) => {
      if (writes(body)) return await new Promise(() => {});
      if (path === "/v3/lease/keepalive" && sentMs.push(etcd.clock.monotonicMs()) === 2)
        throw new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 });
      return await send();
    };
    const turns = a.pull();
    const beganMs = etcd.clock.monotonicMs();
    await etcd.clock.advance(4 * RHYTHM_MS);
    expect(sentMs.map((ms) => (ms - beganMs) / RHYTHM_MS)).toEqual([1, 2, 2.25, 3.25]);
    a.abort();
    await etcd.run(a.place.leave(LIMITS));
    expect(await etcd.run(turns)).toMatchObject({ done: true });
    await etcd.clock.advance(2 * LEASE_MS);
    expect([sentMs.length, etcd.clock.pendingTimers]).toEqual([4, 0]);
  });

  it("does not acquire if an administrator has broken its turn", async () => {
    const a = join("a");
    await a.next();
    await etcd.run(etcd.connect().store.break("e", { reason: "not now" }));
    expect(await a.acquire()).toEqual({ acquired: false });
  });

  it("is void if its key was put on another lease, or created anew", async () => {
    for (const change of ["lease", "anew"]) {
      const a = join("a", { election: change });
      await a.next();
      const [hex = ""] = etcd.under(`${change}/`);
      const key = `${change}/${hex}`;
      const { lease = "" } = etcd.key(key) ?? {};
      if (change === "anew") etcd.service.keys.drop([key]);
      etcd.service.keys.put(key, "a", change === "anew" ? lease : "0");
      expect(await a.acquire(), change).toEqual({ acquired: false });
      expect(await a.next(), change).toBeUndefined();
    }
  });

  it("is refused if the key before it is not a candidate's", async () => {
    etcd.service.keys.put("e/theirs", "", "0");
    await expect(join("a").next()).rejects.toMatchObject({ code: "FOREIGN_RECORD", message: /'e\/theirs'/ });
  });

  it("is taken once if the reply to its transaction is lost", async () => {
    const a = join("a");
    a.wire.onCall = async (_path, body, send) => (writes(body) ? await loseReply(send) : await send());
    await expect(a.next()).rejects.toMatchObject({ operation: "join", mayHaveBeenApplied: true });
    a.wire.onCall = async (_path, _body, send) => await send();
    a.wire.paths.length = 0;
    expect(await a.next()).toMatchObject({ state: "vacant" });
    // The lease exists: only the transaction of the key is sent again, and then the read.
    expect(a.wire.paths).toEqual(["/v3/kv/txn", "/v3/kv/txn"]);
    expect(etcd.under("e/")).toHaveLength(1);
    a.wire.paths.length = 0;
    await a.next();
    expect(a.wire.paths.filter((path) => path === "/v3/kv/txn")).toHaveLength(1);
    expect(await a.acquire()).toMatchObject({ acquired: true });
  });

  it("ends without an error if its lease is gone before its key exists", async () => {
    const a = join("a");
    a.wire.onCall = async (path, body, send) => {
      const reply = await send();
      if (path === "/v3/lease/grant") etcd.service.revoke(String(body["ID"]));
      return reply;
    };
    expect(await a.next()).toBeUndefined();
    expect(a.wire.paths).toEqual(["/v3/lease/grant", "/v3/kv/txn"]);
    expect(await a.acquire()).toEqual({ acquired: false });
  });

  it("fails if its grant fails, and sends no keep-alives then", async () => {
    const a = join("a");
    a.wire.onCall = async () =>
      await Promise.reject(new EtcdFailure("etcdserver: too many requests", { status: 429, grpcCode: 8 }));
    await expect(a.next()).rejects.toMatchObject({ code: "STORE_THROTTLED", operation: "grant" });
    a.wire.paths.length = 0;
    await etcd.clock.advance(10 * RHYTHM_MS);
    expect(a.wire.paths).toEqual([]);
    a.wire.onCall = async (_path, _body, send) => await send();
    expect(await a.next()).toMatchObject({ state: "vacant" });
  });

  it("sends no keep-alives if it was left while its grant was on its way", async () => {
    const a = join("a");
    a.wire.onCall = async (path, _body, send) => {
      if (path === "/v3/lease/grant") void a.place.leave(LIMITS).catch(() => undefined);
      return await send();
    };
    expect(await a.next()).toBeUndefined();
    a.wire.paths.length = 0;
    await etcd.clock.advance(10 * RHYTHM_MS);
    expect(a.wire.paths).toEqual([]);
  });

  it("is left by one request, even if its lease is gone already, and by none after that", async () => {
    const a = join("a");
    await a.next();
    etcd.service.revoke(etcd.key(`e/${etcd.under("e/")[0] ?? ""}`)?.lease ?? "");
    a.wire.paths.length = 0;
    await etcd.run(a.place.leave(LIMITS));
    await etcd.run(a.place.leave(LIMITS));
    expect(a.wire.paths).toEqual(["/v3/lease/revoke"]);
  });

  it("ends with its signal at any moment, throws nothing, and leaves nothing behind but its key", async () => {
    for (const moment of ["while it waits", "in a request"]) {
      const a = join("a", { election: moment });
      await a.next();
      if (moment === "in a request") a.wire.onCall = async () => await new Promise(() => {});
      const ending = a.pull();
      await etcd.clock.advance(moment === "in a request" ? RHYTHM_MS + 1 : 1);
      a.abort();
      expect(await etcd.run(ending), moment).toEqual({ value: undefined, done: true });
      expect(getEventListeners(a.signal, "abort"), moment).toEqual([]);
      a.wire.onCall = async (_path, _body, send) => await send();
      expect(await a.next(), moment).toBeUndefined();
      await etcd.run(a.place.leave(LIMITS));
    }
    await etcd.clock.advance(2 * LEASE_MS);
    expect(etcd.clock.pendingTimers).toBe(0);
  });

  it("releases its signal and its watch if its turns are no longer requested", async () => {
    const a = join("a");
    await a.next();
    await etcd.clock.advance(1);
    const ending = a.pull();
    await etcd.clock.advance(1);
    await etcd.run(a.place.leave(LIMITS));
    expect(await etcd.run(ending)).toEqual({ value: undefined, done: true });
    expect(getEventListeners(a.signal, "abort")).toEqual([]);
    await etcd.clock.advance(2 * LEASE_MS);
    expect(etcd.clock.pendingTimers).toBe(0);
  });

  it("is refused if its term would not exceed the highest known, and not if it just does", async () => {
    while (etcd.service.keys.revision < 9) etcd.service.keys.put("elsewhere", "", "0");
    await expect(join("a", { aboveTerm: 10 }).next()).rejects.toMatchObject({
      code: "TERM_REGRESSED",
      foundTerm: 9,
      highestTermSeen: 10,
    });
    expect(await join("b", { election: "f", aboveTerm: 10 }).next()).toMatchObject({ state: "vacant" });
    const late = join("c", { election: "g", minTerm: 12 });
    expect(await late.next()).toMatchObject({ state: "vacant" });
  });

  it("shows the rest of the hold for which it waits", async () => {
    const a = join("a");
    await a.next();
    const outcome = (await a.acquire()) as Extract<AcquireOutcome, { acquired: true }>;
    await etcd.run(a.store.release(outcome.lease, { ...LIMITS, holdMs: 5_000 }));
    const b = join("b", { renewIntervalMs: 60_000, leaseDurationMs: 120_000 });
    expect(await b.next()).toMatchObject({ state: "vacant", bar: { kind: "hold", leftMs: 6_000 } });
    const turn = b.pull();
    await etcd.clock.advance(4_999);
    expect(etcd.under("e/")).toHaveLength(2);
    expect(await etcd.run(turn)).toMatchObject({ value: { state: "vacant", term: outcome.lease.term } });
  });
});

/** A candidate in the queue, with a store of its own. */
class Waiting {
  readonly store: LeaseStore;
  readonly wire: Wire;
  readonly place: Place;
  readonly #etcd: VirtualEtcd;
  readonly #stopping = new AbortController();
  #turns: AsyncIterator<LeaseSnapshot> | undefined;

  constructor(etcd: VirtualEtcd, candidateId: string, wishes: Partial<AcquireRequest>) {
    const { store, wire } = etcd.connect();
    const request = {
      election: "e",
      candidateId,
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: RHYTHM_MS,
      ...LIMITS,
      ...wishes,
    };
    this.store = store;
    this.wire = wire;
    this.#etcd = etcd;
    this.place = store.join(request, { signal: this.#stopping.signal });
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Requests its next turn. */
  async pull(): Promise<IteratorResult<LeaseSnapshot>> {
    this.#turns ??= this.place.turns()[Symbol.asyncIterator]();
    try {
      return await this.#turns.next();
    } catch (error) {
      this.#turns = undefined;
      throw error;
    }
  }

  /** Returns its next turn; `undefined` if there are no more. */
  async next(): Promise<LeaseSnapshot | undefined> {
    const { value, done } = await this.#etcd.run(this.pull());
    return done ? undefined : (value as LeaseSnapshot);
  }

  async acquire(): Promise<AcquireOutcome> {
    return await this.#etcd.run(this.place.acquire());
  }

  abort(): void {
    this.#stopping.abort();
  }

  /** Loses all of its further requests. */
  abandon(): void {
    this.wire.onCall = async () => await new Promise(() => {});
  }
}
