import { VirtualClock } from "@leasehold/core/testing";
import { EtcdFailure, EtcdLeaseStore, type Json } from "@leasehold/etcd";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cluster } from "../src/cluster.ts";
import { EtcdRequests } from "../src/requests.ts";
import { header, scripted, type Scripted } from "./scripted.ts";

const NOBODY = { ...header(7), succeeded: true, responses: [{}, {}, {}] };
const CANDIDATE = { candidateId: "a", leaseDurationMs: 15_000, published: true };

describe("a watch of an election", () => {
  let transport: Scripted;
  let stopping: AbortController;
  let wakeUps: number;
  let ended: Promise<unknown>;
  /** The ranges that etcd was asked to watch. */
  let creates: Json[];
  /** The signal that ends the watch at etcd. */
  let watching: AbortSignal | undefined;
  /** Sends a message to the watch that is under way. */
  let tell: (message: Json | Error | undefined) => Promise<void>;

  beforeEach(async () => {
    const clock = new VirtualClock();
    stopping = new AbortController();
    wakeUps = 0;
    transport = scripted(() => NOBODY);
    creates = [];
    transport.watch = async function* told(requests, { signal }) {
      creates.push(...requests);
      watching = signal;
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
      for (;;) {
        const { promise, resolve } = Promise.withResolvers<Json | Error | undefined>();
        tell = async (message) => {
          resolve(message);
          await clock.settle();
        };
        const message = await Promise.race([promise, aborted]);
        if (message === undefined) return;
        if (message instanceof Error) throw message;
        yield message;
      }
    };
    const store = new EtcdLeaseStore({ transport, clock });
    const follow = async (): Promise<void> => {
      for await (const _ of store.watch("e", { signal: stopping.signal })) wakeUps += 1;
    };
    ended = follow().then(
      () => "ended",
      (error: unknown) => error,
    );
    await clock.settle();
  });

  afterEach(async () => {
    stopping.abort();
    await ended;
  });

  it("watches the keys that show the leader, and sends nothing else", () => {
    expect(creates).toEqual(
      ["e/", ".leasehold/e/notes/"].map((prefix) => ({
        create_request: { key: base64(prefix), range_end: base64(`${prefix.slice(0, -1)}0`) },
      })),
    );
    expect(transport.requests).toEqual([]);
  });

  it("wakes once etcd watches all of them, at each candidate that comes or goes, and at each note", async () => {
    const counts: number[] = [];
    for (const message of [
      { created: true },
      { created: true },
      { events: [put("e/1f", "a", 8)] },
      { events: [put(".leasehold/e/notes/1f", "{}", 9)] },
      { events: [{ type: "DELETE", kv: { key: base64("e/1f"), mod_revision: "10" } }] },
    ]) {
      await tell(message);
      counts.push(wakeUps);
    }
    expect(counts).toEqual([0, 1, 2, 3, 4]);
  });

  it("does not wake when a leader publishes a value", async () => {
    await tell({ created: true });
    await tell({ created: true });
    const { kv } = put("e/1f", "another", 8);
    await tell({ events: [{ kv: { ...kv, mod_revision: "9", version: "2" } }] });
    expect(wakeUps).toBe(1);
  });

  it.each<readonly [string, Json | undefined]>([
    ["etcd ends it", undefined],
    ["etcd cancels it, as after a compaction", { canceled: true, compact_revision: "100" }],
    ["etcd cancels it as it begins", { created: true, canceled: true, compact_revision: "100" }],
  ])("ends if %s, so that its reader continues by polling", async (_, message) => {
    await tell(message);
    expect(await ended).toBe("ended");
  });

  it("fails with the error of its stream", async () => {
    await tell(new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 }));
    expect(await ended).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "watch" });
  });

  it("ends with its signal's reason at any moment", async () => {
    await tell({ created: true });
    const reason = new Error("enough");
    stopping.abort(reason);
    expect(await ended).toBe(reason);
    expect(watching?.reason).toBe(reason);
  });

  it("ends with its signal's reason, whatever error its stream then has", async () => {
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
      const one = new AbortController();
      const next = requests.watch("e", [], one.signal).next();
      if (reason) one.abort(reason);
      failing.resolve();
      await expect(next).rejects.toMatchObject(wanted);
    }
  });
});

describe("a standby or an observer", () => {
  it("polls once a lease while etcd pushes, and at its own period before it has seen a lease", async () => {
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
