import type { LeaseSnapshot } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { EtcdFailure, EtcdLeaseStore, type Json } from "@leasehold/etcd";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { header, scripted, type Scripted } from "./scripted.ts";

const NOBODY = { ...header(7), succeeded: true, responses: [{}, {}, {}] };
const CANDIDATE = { candidateId: "a", leaseDurationMs: 15_000, published: true };

describe("a watch of an election", () => {
  let clock: VirtualClock;
  let transport: Scripted;
  let stopping: AbortController;
  let seen: Array<LeaseSnapshot | undefined>;
  let ended: Promise<unknown>;
  /** Ends the watch at etcd. */
  let watching: AbortSignal | undefined;
  /** The message that a test sends next, to the watch that is under way. */
  let tell: (message: Json | Error | undefined) => void;

  beforeEach(() => {
    clock = new VirtualClock();
    stopping = new AbortController();
    seen = [];
    transport = scripted(() => NOBODY);
    transport.watch = async function* told(_, { signal }) {
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
    await clock.advance(0);
    await ended;
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
    await clock.advance(2_000);
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
    expect(await ended).toBe("ended");
  });

  it("fails as its stream does", async () => {
    await clock.advance(0);
    tell(new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 }));
    expect(await ended).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "watch" });
  });

  it("ends with its signal, whatever it waits for", async () => {
    await clock.advance(0);
    tell({ events: [put("e/1f", "a", 8)] });
    await clock.advance(1);
    const reason = new Error("enough");
    stopping.abort(reason);
    expect(await ended).toBe(reason);
    expect(watching?.reason).toBe(reason);
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
