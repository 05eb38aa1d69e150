import { getEventListeners } from "node:events";
import type { LeaseSnapshot } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { EtcdFailure, EtcdLeaseStore, type Json } from "@leasehold/etcd";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cluster } from "../src/cluster.ts";
import { EtcdRequests } from "../src/requests.ts";
import { header, scripted, type Scripted } from "./scripted.ts";

const NOBODY = { ...header(7), succeeded: true, responses: [{}, {}, {}] };
const CANDIDATE = { candidateId: "a", leaseDurationMs: 15_000, published: true };

describe("a watch of an election", () => {
  let clock: VirtualClock;
  let transport: Scripted;
  let stopping: AbortController;
  let seen: Array<LeaseSnapshot | undefined>;
  let ended: Promise<unknown>;
  /** What etcd was asked to watch. */
  let creates: Json[];
  /** Ends the watch at etcd. */
  let watching: AbortSignal | undefined;
  /** The message that a test sends next, to the watch that is under way. */
  let tell: (message: Json | Error | undefined) => void;

  beforeEach(async () => {
    clock = new VirtualClock();
    await clock.advance(3_600_000);
    stopping = new AbortController();
    seen = [];
    transport = scripted(() => NOBODY);
    creates = [];
    transport.watch = async function* told(requests, { signal }) {
      creates.push(...requests);
      watching = signal;
      for (;;) {
        const { promise, resolve } = Promise.withResolvers<Json | Error | undefined>();
        tell = resolve;
        const message = await promise;
        if (message === undefined) return;
        if (message instanceof Error) throw message;
        yield message;
      }
    };
    const store = new EtcdLeaseStore({ transport, clock });
    const follow = async (): Promise<void> => {
      for await (const snapshot of store.watch("e", { signal: stopping.signal })) seen.push(snapshot);
    };
    ended = follow().then(
      () => "ended",
      (error: unknown) => error,
    );
  });

  afterEach(async () => {
    stopping.abort();
    await clock.runUntil(ended, 60_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it("tells of a transaction as a whole, though its keys come in several messages", async () => {
    await clock.advance(0);
    tell({ events: [put("e/1f", "http://a", 8)] });
    await clock.advance(5);
    tell({ events: [put(".leasehold/e/candidates/1f", JSON.stringify({ schema: 1, ...CANDIDATE }), 8)] });
    await clock.advance(50);
    expect(seen).toEqual([
      undefined,
      { election: "e", state: "held", term: 8, holder: "a", value: "http://a", leaseDurationMs: 15_000, bar: { kind: "lease" } },
    ]);
    tell({ events: [{ type: "DELETE", kv: { key: base64("e/1f"), mod_revision: "9" } }] });
    await clock.advance(50);
    expect(seen.slice(2)).toEqual([{ election: "e", state: "vacant", term: 8 }]);
  });

  it("is of all keys of the election, from the revision on that follows the reading", async () => {
    await clock.advance(0);
    expect(creates).toEqual(
      ["e/", ".leasehold/e/candidates/", ".leasehold/e/notes/"].map((prefix) => ({
        create_request: { key: base64(prefix), range_end: base64(`${prefix.slice(0, -1)}0`), start_revision: "8" },
      })),
    );
  });

  it("gathers for ten milliseconds from the first news on, of which the word that it has begun is none", async () => {
    await clock.advance(0);
    tell({ created: true });
    await clock.advance(5);
    tell({ events: [put("e/1f", "http://a", 8)] });
    await clock.advance(9.5);
    tell({ events: [put(".leasehold/e/candidates/1f", JSON.stringify({ schema: 1, ...CANDIDATE }), 8)] });
    await clock.advance(0);
    expect(seen).toEqual([undefined]);
    await clock.advance(0.5);
    expect(seen.slice(1)).toMatchObject([{ holder: "a" }]);
    await clock.advance(50);
    // Nothing but the next reading is to come.
    expect(clock.pendingTimers).toBe(1);
  });

  it("forgets a note, and what a candidate tells, when that is gone", async () => {
    await clock.advance(0);
    const info = ".leasehold/e/candidates/1f";
    const note = ".leasehold/e/notes/1f";
    tell({
      events: [
        put("e/1f", "a", 8),
        put(info, JSON.stringify({ schema: 1, ...CANDIDATE }), 8),
        put(note, JSON.stringify({ schema: 1, kind: "break", id: "1", reason: "over" }), 9),
        // Of another election, which lies beside this one.
        put("elsewhere", "b", 2),
      ],
    });
    await clock.advance(20);
    expect(seen.at(-1)).toMatchObject({ state: "ending", endingReason: "over", holder: "a", value: "a" });
    tell({ events: [note, info].map((key) => ({ type: "DELETE", kv: { key: base64(key), mod_revision: "10" } })) });
    await clock.advance(20);
    expect(seen.at(-1)).toEqual({ election: "e", state: "held", term: 8, holder: "a", value: "a", bar: { kind: "lease" } });
  });

  it("tells nothing of those who queue behind the leader", async () => {
    await clock.advance(0);
    tell({ events: [put("e/1f", "first", 8)] });
    await clock.advance(50);
    tell({ events: [put("e/2f", "second", 9)] });
    await clock.advance(50);
    expect(seen).toHaveLength(2);
  });

  it("reads anew each half minute, since it may have lost something", async () => {
    await clock.advance(0);
    tell({ events: [put("e/1f", "gone since", 8)] });
    await clock.advance(29_000);
    expect(transport.requests).toHaveLength(1);
    expect(seen.at(-1)).toMatchObject({ holder: "gone since" });
    const first = watching;
    await clock.advance(2_000);
    expect([first?.aborted, watching?.aborted]).toEqual([true, false]);
    expect(transport.requests).toHaveLength(2);
    expect(seen.at(-1)).toMatchObject({ state: "vacant", term: 8 });
  });

  it.each<readonly [string, Json | undefined]>([
    ["etcd ends it", undefined],
    ["etcd cancels it, as after a compaction", { canceled: true, compact_revision: "100" }],
    ["etcd cancels it as it begins", { created: true, canceled: true, compact_revision: "100" }],
  ])("ends where %s, so that its reader goes on by looking", async (_, message) => {
    await clock.advance(0);
    tell(message);
    await clock.advance(50);
    expect(await clock.runUntil(ended, 60_000)).toBe("ended");
    expect(getEventListeners(stopping.signal, "abort")).toEqual([]);
  });

  it("fails as its stream does", async () => {
    await clock.advance(0);
    tell(new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 }));
    expect(await clock.runUntil(ended, 60_000)).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "watch" });
  });

  it("ends with its signal, whatever it waits for", async () => {
    await clock.advance(0);
    tell({ events: [put("e/1f", "a", 8)] });
    await clock.advance(1);
    const reason = new Error("enough");
    stopping.abort(reason);
    expect(await clock.runUntil(ended, 60_000)).toBe(reason);
    expect(watching?.reason).toBe(reason);
  });
});

describe("a watch of an election, at its reader's own pace", () => {
  it("tells what has come while its reader was busy, as soon as that asks again", async () => {
    const clock = new VirtualClock();
    const messages = [Promise.withResolvers<Json>(), Promise.withResolvers<Json>()];
    const transport = scripted(() => NOBODY);
    transport.watch = async function* told() {
      for (const { promise } of messages) yield await promise;
    };
    const stopping = new AbortController();
    const watch = new EtcdLeaseStore({ transport, clock }).watch("e", { signal: stopping.signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toEqual({ done: false, value: undefined });
    messages[0]?.resolve({ events: [put("e/1f", "a", 8)] });
    await clock.advance(1_000);
    expect(await clock.runUntil(watch.next(), 1_000)).toMatchObject({ value: { holder: "a" } });
    stopping.abort();
    await watch.return?.();
  });

  it("begins with what is there, and goes on from that", async () => {
    const clock = new VirtualClock();
    const info = put(".leasehold/e/candidates/1f", JSON.stringify({ schema: 1, ...CANDIDATE }), 8).kv;
    const responses = [[put("e/1f", "a", 8).kv], [info], []].map((kvs) => ({ response_range: { kvs } }));
    const transport = scripted(() => ({ ...header(9), responses }));
    transport.watch = async function* told() {
      yield await Promise.resolve({ events: [{ type: "DELETE", kv: { key: base64("e/1f"), mod_revision: "10" } }] });
      await new Promise(() => {});
    };
    const stopping = new AbortController();
    const watch = new EtcdLeaseStore({ transport, clock }).watch("e", { signal: stopping.signal })[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ value: { state: "held", term: 8, holder: "a" } });
    expect(await clock.runUntil(watch.next(), 1_000)).toMatchObject({ value: { state: "vacant", term: 8 } });
    stopping.abort();
    await watch.return?.();
  });

  it("ends with its signal's reason, whatever its stream fails with then", async () => {
    const transport = scripted(() => NOBODY);
    const failing = Promise.withResolvers<void>();
    // oxlint-disable-next-line eslint/require-yield -- it fails
    transport.watch = async function* failed() {
      await failing.promise;
      throw new EtcdFailure("the connection broke", { status: 0, socketCode: "ECONNRESET" });
    };
    const requests = new EtcdRequests(transport, new VirtualClock(), new Cluster());
    for (const [reason, wanted] of [
      [new Error("enough"), { message: "enough" }],
      [undefined, { code: "STORE_UNAVAILABLE", operation: "watch", election: "e", mayHaveBeenApplied: false }],
    ] as const) {
      const stopping = new AbortController();
      const next = requests.watch("e", [], stopping.signal).next();
      if (reason) stopping.abort(reason);
      failing.resolve();
      await expect(next).rejects.toMatchObject(wanted);
    }
  });
});

describe("a standby or an observer", () => {
  it("looks once a lease while etcd pushes, and at its own period before it has seen one", async () => {
    const candidate = put("e/1f", "a", 8).kv;
    const info = put(".leasehold/e/candidates/1f", JSON.stringify({ schema: 1, ...CANDIDATE }), 8).kv;
    const responses = [[candidate], [info], []].map((kvs) => ({ response_range: { kvs } }));
    const replies = [{ ...NOBODY, responses }, NOBODY];
    const store = new EtcdLeaseStore({ transport: scripted((index) => replies[index] as Json), clock: new VirtualClock() });
    for (const [longest, look] of [
      [2_000, undefined],
      [15_000, "held"],
      [15_000, "vacant"],
    ] as const) {
      if (look) expect((await store.read("e"))?.state).toBe(look);
      const ms = store.nextLookMs("e", 2_000);
      expect(ms).toBeGreaterThan(longest / 2);
      expect(ms).toBeLessThanOrEqual(longest);
    }
  });
});

function put(key: string, value: string, revision: number): { readonly kv: Json } {
  const at = String(revision);
  return { kv: { key: base64(key), value: base64(value), create_revision: at, mod_revision: at, version: "1", lease: "31" } };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
