import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import { EtcdFailure, type Json } from "@leasehold/etcd";
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualEtcd, writes } from "./virtual-etcd.ts";
import { loseReply, type Send, type Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 1_000 };
const REQUEST: AcquireRequest = {
  election: "e",
  candidateId: "a",
  leaseDurationMs: 10_000,
  renewIntervalMs: 3_000,
  ...LIMITS,
};

describe("a term on etcd", () => {
  let etcd: VirtualEtcd;
  let store: LeaseStore;
  let wire: Wire;

  beforeEach(() => {
    etcd = new VirtualEtcd();
    ({ store, wire } = etcd.connect());
  });

  async function win(request: Partial<AcquireRequest> = {}, by: LeaseStore = store): Promise<Lease> {
    const outcome = await etcd.run(by.acquire({ ...REQUEST, ...request }));
    if (!outcome.acquired) throw new Error(`It has not acquired: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  /** Returns the requests of a call, by their paths, and its outcome. */
  async function asking<T>(call: () => Promise<T>): Promise<readonly [paths: readonly string[], outcome: T | Error]> {
    wire.paths.length = 0;
    const outcome = await etcd.run(call().catch((error: unknown) => error as Error));
    return [wire.paths.map((path) => path.slice(path.lastIndexOf("/") + 1)), outcome];
  }

  describe("is stored", () => {
    it("as a key that Go knows, with its info beside it", async () => {
      const anonymous = await win();
      expect(etcd.key(`e/${anonymous.termId}`)).toMatchObject({ value: "a", createRevision: anonymous.term });
      const info = `.leasehold/e/candidates/${anonymous.termId}`;
      expect(etcd.json(info)).toEqual({ schema: 1, candidateId: "a", leaseDurationMs: 10_000, published: false });
      await etcd.run(store.publish(anonymous, "http://a", LIMITS));
      expect(etcd.key(`e/${anonymous.termId}`)).toMatchObject({ value: "http://a", createRevision: anonymous.term });
      expect(etcd.json(info)).toEqual({ schema: 1, candidateId: "a", leaseDurationMs: 10_000, published: true });
      const named = await win({ election: "other", value: "http://b" });
      expect(etcd.key(`other/${named.termId}`)?.value).toBe("http://b");
      expect(etcd.json(`.leasehold/other/candidates/${named.termId}`)).toMatchObject({ published: true });
    });

    it("for the duration of its lease", async () => {
      await win({ leaseDurationMs: 3_000 });
      await etcd.clock.advance(2_999);
      expect(etcd.under("e/")).toHaveLength(1);
      await etcd.clock.advance(501);
      expect(etcd.under("e/")).toEqual([]);
    });

    it("with a note if it was broken", async () => {
      const { termId } = await win();
      expect(await etcd.run(store.break("e", { reason: "first" }))).toMatchObject({ broken: true });
      const broken = { schema: 1, kind: "break", id: expect.any(String) as string, reason: "first" };
      expect(etcd.json(`.leasehold/e/notes/${termId}`)).toEqual(broken);
      // Another order has a reason of its own.
      expect(await etcd.run(store.break("e", { reason: "second" }))).toMatchObject({ broken: true });
      expect(etcd.json(`.leasehold/e/notes/${termId}`)).toMatchObject({ reason: "second" });
      expect(await etcd.run(store.read("e"))).toMatchObject({ state: "ending", endingReason: "second" });
    });

    it("on a lease without keep-alives, with a note, if its holder has left it with a hold", async () => {
      const lease = await win({ value: "http://a" });
      expect(await etcd.run(store.release(lease, { ...LIMITS, holdMs: 4_001 }))).toBe("released");
      const note = `.leasehold/e/notes/${lease.termId}`;
      expect(etcd.json(note)).toEqual({ schema: 1, kind: "hold", holdMs: 5_000 });
      expect(etcd.json(`.leasehold/e/candidates/${lease.termId}`)).toEqual({
        schema: 1,
        candidateId: "a",
        leaseDurationMs: 10_000,
        published: false,
      });
      expect(etcd.key(`e/${lease.termId}`)?.value).toBe("a");
      await etcd.clock.advance(1_500);
      // The rest is shown in whole seconds, rounded up.
      expect(await etcd.run(store.read("e"))).toEqual({
        election: "e",
        state: "vacant",
        term: lease.term,
        leaseDurationMs: 10_000,
        bar: { kind: "hold", leftMs: 4_000 },
      });
      await etcd.clock.advance(3_499);
      expect(etcd.under("e/")).toHaveLength(1);
      await etcd.clock.advance(501);
      expect(etcd.under("e/")).toEqual([]);
    });

    it("for a moment longer, if its hold is over and etcd has not noticed that", async () => {
      const lease = await win();
      await etcd.run(store.release(lease, { ...LIMITS, holdMs: 4_000 }));
      for (const [ttl, leftMs] of [
        ["-1", 1_000],
        [undefined, 1_000],
        ["0", 1_000],
        ["1", 2_000],
      ] as const) {
        wire.onCall = async (path, _body, send) => {
          const reply = await send();
          return path === "/v3/lease/timetolive" ? { ...reply, body: { ...reply.body, TTL: ttl } } : reply;
        };
        expect((await etcd.run(store.read("e")))?.bar).toEqual({ kind: "hold", leftMs });
      }
    });
  });

  describe("is acquired", () => {
    it("by two requests if this process last read a vacant election, and otherwise after a read", async () => {
      const twice = ["grant", "txn"];
      expect(await asking(() => store.acquire(REQUEST))).toMatchObject([["txn", ...twice], { acquired: true }]);
      await etcd.run(store.break("e", { reason: "over", immediate: true }));
      expect(await etcd.run(store.read("e"))).toMatchObject({ state: "vacant" });
      const { revision } = etcd.service.keys;
      const [paths, outcome] = await asking(() => store.acquire({ ...REQUEST, aboveTerm: revision, minTerm: 2 }));
      expect([paths, outcome]).toMatchObject([twice, { acquired: true }]);
    });

    it.each([
      ["aboveTerm", 10],
      ["minTerm", 11],
    ])("after a read if %s is above what this process has seen, because the cluster may be ahead", async (wish, value) => {
      expect(await etcd.run(store.read("e"))).toBeUndefined();
      while (etcd.service.keys.revision < 10) etcd.service.keys.put("elsewhere", "", "0");
      const [paths, outcome] = await asking(() => store.acquire({ ...REQUEST, [wish]: value }));
      expect([paths, outcome]).toMatchObject([["txn", "grant", "txn"], { acquired: true, lease: { term: 11 } }]);
    });

    it("by one of two that read a vacant election; the other leaves no lease behind, and knows the leader", async () => {
      const rival = etcd.connect().store;
      expect(await etcd.run(store.read("e"))).toBeUndefined();
      let theirs: Lease | undefined;
      let own = "";
      wire.onCall = async (path, body, send) => {
        if (path === "/v3/lease/grant") {
          own = String(body["ID"]);
          const outcome = await rival.acquire({ ...REQUEST, candidateId: "b", leaseDurationMs: 20_000 });
          if (outcome.acquired) theirs = outcome.lease;
        }
        const reply = await send();
        // The next step does not find the lease.
        if (path === "/v3/lease/revoke") own = "gone";
        return reply;
      };
      const [, outcome] = await asking(() => store.acquire(REQUEST));
      expect(outcome).toMatchObject({ acquired: false, current: { state: "held", holder: "b", term: theirs?.term } });
      expect(own).toBe("gone");
      expect(etcd.under("e/")).toEqual([theirs?.termId]);
      expect(store.nextLookMs("e", 1_000)).toBeGreaterThan(15_000);
      await etcd.run(rival.release(theirs as Lease, LIMITS));
      wire.onCall = async (_path, _body, send) => await send();
      expect(await etcd.run(store.read("e"))).toEqual({ election: "e", state: "vacant", term: theirs?.term });
    });

    it("not while another candidate leads, whom the outcome names", async () => {
      const { term } = await win();
      const [paths, outcome] = await asking(() => store.acquire(REQUEST));
      expect([paths, outcome]).toMatchObject([["txn"], { acquired: false, current: { holder: "a", term } }]);
    });

    it("and remembered by the process that had it, although etcd keeps nothing of it", async () => {
      const lease = await win();
      etcd.service.revoke(etcd.key(`e/${lease.termId}`)?.lease ?? "");
      expect(await etcd.run(store.read("e"))).toEqual({ election: "e", state: "vacant", term: lease.term });
      expect(await etcd.run(etcd.connect().store.read("e"))).toBeUndefined();
    });

    it("not if the reply is lost: then nothing is left of it when the attempt ends", async () => {
      let isRevoked = false;
      wire.onCall = async (path, body, send) => {
        if (path === "/v3/kv/txn" && writes(body)) return await loseReply(send);
        const reply = await send();
        if (path === "/v3/lease/revoke") isRevoked = true;
        return reply;
      };
      const [, error] = await asking(() => store.acquire(REQUEST));
      expect(error).toMatchObject({ operation: "acquire", mayHaveBeenApplied: true });
      expect(isRevoked).toBe(true);
      expect(etcd.under("e/")).toEqual([]);
    });

    it("later by the process whose reply was lost, as soon as its next read shows its own key", async () => {
      expect(await etcd.run(store.read("e"))).toBeUndefined();
      wire.onCall = async (path, body, send) => {
        if (path === "/v3/lease/revoke") throw new Error("no revocation gets through");
        return path === "/v3/kv/txn" && writes(body) ? await loseReply(send) : await send();
      };
      await asking(() => store.acquire(REQUEST));
      expect(etcd.under("e/")).toHaveLength(1);
      wire.onCall = async (_path, _body, send) => await send();
      const [paths, outcome] = await asking(() => store.acquire(REQUEST));
      expect([paths, outcome]).toMatchObject([["txn", "revoke", "txn", "grant", "txn"], { acquired: true }]);
    });

    it("not if its lease is gone before its key exists, which is not reported as a failure of the grant", async () => {
      wire.onCall = async (path, body, send) => {
        const reply = await send();
        if (path === "/v3/lease/grant") etcd.service.revoke(String(body["ID"]));
        return reply;
      };
      const [paths, error] = await asking(() => store.acquire(REQUEST));
      expect(paths).toEqual(["txn", "grant", "txn"]);
      expect(error).toMatchObject({ code: "STORE_CONFLICT", operation: "acquire", mayHaveBeenApplied: false });
    });

    it("not if its grant was lost and did not arrive; the error is that of the grant", async () => {
      wire.onCall = async (path, _body, send) =>
        path === "/v3/lease/grant" ? await loseReply(() => Promise.resolve({ body: {}, endpoint: "" })) : await send();
      const [, error] = await asking(() => store.acquire(REQUEST));
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "grant", mayHaveBeenApplied: true });
    });

    it("not with a lease of another duration, and the error names the granted time", async () => {
      wire.onCall = async (path, _body, send) => {
        const reply = await send();
        return path === "/v3/lease/grant" ? { ...reply, body: { ...reply.body, TTL: undefined } } : reply;
      };
      const [, error] = await asking(() => store.acquire(REQUEST));
      expect(error).toMatchObject({
        code: "STORE_REJECTED",
        mayHaveBeenApplied: false,
        message: "etcd: a lease of 0 s was granted for 'e', instead of 10 s.",
      });
    });
  });

  describe("is renewed", () => {
    it("by a keep-alive and a read, and counts from before the first of them", async () => {
      const lease = await win();
      const sentMs = etcd.clock.monotonicMs();
      const delay = async (send: Send): ReturnType<Send> => {
        await new Promise<void>((resolve) => void etcd.clock.setTimer(resolve, 300));
        return await send();
      };
      wire.onCall = async (_path, _body, send) => await delay(send);
      const [paths, outcome] = await asking(() => store.renew(lease, LIMITS));
      expect(paths).toEqual(["keepalive", "txn"]);
      expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
      // Both requests share the time limit of the call.
      expect((await asking(() => store.renew(lease, { timeoutMs: 500 })))[1]).toMatchObject({
        code: "STORE_TIMEOUT",
        operation: "renew",
        mayHaveBeenApplied: false,
      });
    });

    it("possibly, if the keep-alive has no reply", async () => {
      const lease = await win();
      wire.onCall = async (_path, _body, send) => await loseReply(send);
      const [paths, error] = await asking(() => store.renew(lease, LIMITS));
      expect([paths, error]).toMatchObject([["keepalive"], { operation: "keep-alive", mayHaveBeenApplied: true }]);
    });

    it("not if the lease has no time left", async () => {
      const lease = await win();
      wire.onCall = async (path, _body, send) => {
        const reply = await send();
        if (path !== "/v3/lease/keepalive") return reply;
        return { ...reply, body: { result: { ...(reply.body["result"] as Json), TTL: "0" } } };
      };
      const [, outcome] = await asking(() => store.renew(lease, LIMITS));
      expect(outcome).toMatchObject({ held: false, reason: "missing", explanation: /run out/ });
    });

    it("not if the read is of another cluster than the keep-alive", async () => {
      const lease = await win();
      wire.onCall = async (path, _body, send) => {
        const reply = await send();
        if (path === "/v3/lease/keepalive") return reply;
        const header = { ...(reply.body["header"] as Json), cluster_id: "8", revision: "1000" };
        return { ...reply, body: { ...reply.body, header } };
      };
      expect((await asking(() => store.renew(lease, LIMITS)))[1]).toMatchObject({
        code: "STORE_CONFLICT",
        operation: "renew",
        message: "etcd: the members elected another leader while 'e' was renewed; the next renewal shows the result.",
      });
    });

    it("not if another client has put its key on no lease, or created it anew", async () => {
      const lease = await win();
      const key = `e/${lease.termId}`;
      const { lease: number = "" } = etcd.key(key) ?? {};
      etcd.service.keys.put(key, "a", "0");
      expect((await asking(() => store.renew(lease, LIMITS)))[1]).toMatchObject({ held: false });
      etcd.service.keys.drop([key]);
      etcd.service.keys.put(key, "a", number);
      expect((await asking(() => store.renew(lease, LIMITS)))[1]).toMatchObject({ held: false });
    });

    it("no more once it is lost, released or broken: then a read shows the reason", async () => {
      const own = store;
      for (const end of ["taken", "gone", "released", "broken", "published late"]) {
        const election = `one that is ${end}`;
        const lease = await win({ election });
        if (end === "released") await etcd.run(store.release(lease, LIMITS));
        else if (end === "broken") await etcd.run(store.break(election, { reason: "enough" }));
        else etcd.service.revoke(etcd.key(`${election}/${lease.termId}`)?.lease ?? "");
        const next = end === "taken" ? await win({ election }, etcd.connect().store) : undefined;
        if (end === "published late") await etcd.run(store.publish(lease, "late", LIMITS));
        else if (end !== "released") await etcd.run(store.renew(lease, LIMITS));
        const [paths, outcome] = await asking(() => own.renew(lease, LIMITS));
        expect(paths, end).toEqual(["txn"]);
        expect(outcome, end).toMatchObject({
          held: false,
          reason: next ? "taken" : end === "broken" ? "broken" : "missing",
          barredUntilExpiry: end === "broken",
        });
        // Nothing is published either; the publication reads, too.
        expect(await asking(() => own.publish(lease, "late", LIMITS)), end).toMatchObject([["txn"], { held: false }]);
        if (!next) continue;
        await etcd.run(store.break(election, { reason: "over", immediate: true }));
        expect(await etcd.run(store.read(election)), end).toMatchObject({ state: "vacant", term: next.term });
      }
    });

    it("and a renewal that finds a successor makes later reads of this process show it", async () => {
      const lease = await win();
      etcd.service.revoke(etcd.key(`e/${lease.termId}`)?.lease ?? "");
      const next = await win({ leaseDurationMs: 60_000 }, etcd.connect().store);
      await etcd.run(store.renew(lease, LIMITS));
      expect(store.nextLookMs("e", 1_000)).toBeGreaterThan(45_000);
      etcd.service.revoke(etcd.key(`e/${next.termId}`)?.lease ?? "");
      expect(await etcd.run(store.read("e"))).toEqual({ election: "e", state: "vacant", term: next.term });
    });

    it("not, and nothing is published, if etcd refuses a publication without a reason", async () => {
      const lease = await win();
      wire.onCall = async (_path, body, send) => {
        if (!writes(body)) return await send();
        const { body: looked, endpoint } = await etcd
          .connect()
          .wire.call("/v3/kv/txn", { success: body["failure"] as Json }, { signal: new AbortController().signal });
        return { body: { ...looked, succeeded: false }, endpoint };
      };
      expect((await asking(() => store.publish(lease, "x", LIMITS)))[1]).toMatchObject({
        held: false,
        reason: "missing",
        explanation: "its key is gone",
      });
    });
  });

  describe("is broken", () => {
    it("once if the reply to the order is lost", async () => {
      const lease = await win();
      let orders = 0;
      wire.onCall = async (_path, body, send) => {
        if (!writes(body)) return await send();
        orders += 1;
        return await loseReply(send);
      };
      expect(await etcd.run(store.break("e", { reason: "over" }))).toEqual({ broken: true, term: lease.term });
      expect(orders).toBe(1);
    });

    it("at once and for good if the order is immediate, and its holder learns the reason", async () => {
      const lease = await win();
      await etcd.run(store.break("e", { reason: "over", immediate: true }));
      expect(etcd.under("e/")).toEqual([]);
      expect(etcd.under(".leasehold/e/")).toEqual([`notes/${lease.termId}`]);
      expect((await asking(() => store.renew(lease, LIMITS)))[1]).toMatchObject({ reason: "broken", barredUntilExpiry: false });
    });

    it("at once if only a hold is left, and then nothing is left of it", async () => {
      const lease = await win();
      await etcd.run(store.release(lease, { ...LIMITS, holdMs: 30_000 }));
      expect(await etcd.run(store.break("e", { reason: "over" }))).toEqual({ broken: true, term: lease.term });
      expect([...etcd.under("e/"), ...etcd.under(".leasehold/e/")]).toEqual([]);
    });

    it("for a leader in Go only if the order is immediate, and leaves no note", async () => {
      etcd.service.grantKept("31", 60);
      etcd.service.keys.put("e/1f", "theirs", "31");
      await expect(etcd.run(store.break("e", { reason: "over" }))).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: /^The leader of 'e', theirs, is not a candidate of Leasehold's.*stop its process first\.$/,
      });
      expect(await etcd.run(store.break("e", { reason: "over", immediate: true }))).toMatchObject({ broken: true });
      expect([...etcd.under("e/"), ...etcd.under(".leasehold/e/")]).toEqual([]);
    });
  });

  describe("is released", () => {
    it("by the deletion of its keys and the revocation of its lease, both before the release resolves", async () => {
      const lease = await win();
      const { lease: number = "" } = etcd.key(`e/${lease.termId}`) ?? {};
      expect(await asking(() => store.release(lease, LIMITS))).toEqual([["txn", "revoke"], "released"]);
      expect(etcd.service.endsMs(number)).toBe(-Infinity);
      expect(await asking(() => store.release(lease, LIMITS))).toEqual([["txn", "revoke"], "not-held"]);
    });

    it("although its lease cannot be revoked", async () => {
      const lease = await win();
      wire.onCall = async (path, _body, send) => {
        if (path === "/v3/lease/revoke") throw new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 });
        return await send();
      };
      expect(await asking(() => store.release(lease, LIMITS))).toEqual([["txn", "revoke"], "released"]);
    });

    it("with a hold of whole seconds", async () => {
      const lease = await win();
      const ttls: unknown[] = [];
      wire.onCall = async (path, body, send) => {
        if (path === "/v3/lease/grant") ttls.push(body["TTL"]);
        return await send();
      };
      expect((await asking(() => store.release(lease, { ...LIMITS, holdMs: 4_000 })))[0]).toEqual(["grant", "txn", "revoke"]);
      expect(ttls).toEqual(["4"]);
    });
  });

  it("is unknown if it cannot be read: nothing was changed", async () => {
    wire.onCall = async (_path, _body, send) => await loseReply(send);
    expect((await asking(() => store.read("e")))[1]).toMatchObject({ operation: "read", mayHaveBeenApplied: false });
    wire.onCall = async () => await new Promise(() => {});
    const sentMs = etcd.clock.monotonicMs();
    expect((await asking(() => store.read("e", { timeoutMs: 400 })))[1]).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(etcd.clock.monotonicMs() - sentMs).toBe(400);
  });

  it("that a caller knows does not count as this process's read of a vacant election", async () => {
    wire.onCall = async (_path, _body, send) => await loseReply(send);
    await asking(() => store.read("e", { knownTerm: 5 }));
    wire.onCall = async (_path, _body, send) => await send();
    expect(await etcd.run(store.read("other", { knownTerm: 5 }))).toEqual({ election: "other", state: "vacant", term: 5 });
    expect(await etcd.run(store.read("other", { knownTerm: 3 }))).toEqual({ election: "other", state: "vacant", term: 5 });
    expect((await asking(() => store.acquire(REQUEST)))[0]).toEqual(["txn", "grant", "txn"]);
  });

  it("is remembered for twice the time until the next poll", async () => {
    const lease = await win();
    etcd.clock.random = () => 0.5;
    await etcd.run(store.release(lease, LIMITS));
    const other = etcd.connect().store;
    await etcd.run(other.read("e", { knownTerm: 7 }));
    const waitMs = other.nextLookMs("e", 10 * 3_600_000);
    expect(waitMs).toBeCloseTo(9 * 3_600_000, -1);
    await etcd.clock.advance(1.9 * waitMs);
    for (const election of ["x", "y", "z"]) await etcd.run(other.read(election));
    expect(await etcd.run(other.read("e"))).toMatchObject({ state: "vacant", term: 7 });
  });
});
