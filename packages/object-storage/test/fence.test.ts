import { gzipSync } from "node:zlib";
import { ConfigurationError, FencedError, type Leadership } from "@leasehold/core";
import { fakeLeadership, VirtualClock } from "@leasehold/core/testing";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { ObjectBucket } from "@leasehold/test-kit/object-server/object-bucket";
import { BUCKET } from "@leasehold/test-kit/object-server/server";
import { directClient, type Carry } from "@leasehold/test-kit/simulated/object-client";
import { beforeEach, describe, expect } from "vitest";
import { isWriteOf, PROTOCOLS, refusal, test } from "./object-world.ts";

const KEY = "reports/today.json";

function leadership(term: number, election = "e"): Leadership {
  return fakeLeadership({ election, term });
}

describe.each(PROTOCOLS)("on %s", (protocol) => {
  const lineOf = (text: string | undefined): string | undefined => text?.replace(/\n[ \t]{64}$/, "");

  test("a write of an older term is refused after a seal, although the text is the same as before", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const [older, newer] = [leadership(4), leadership(5)];
    await store.fencedPut(older, KEY, "1");
    // The older leader has read the object, and its write arrives after the seal.
    let sealed = false;
    world.answer(async (request) => {
      if (sealed || !isWriteOf(request, KEY)) return undefined;
      sealed = true;
      await store.seal(newer, KEY);
      return undefined;
    });
    await expect(store.fencedPut(older, KEY, "2")).rejects.toThrow(FencedError);

    expect(lineOf(world.textOf(KEY))).toBe("1");
    await store.fencedPut(newer, KEY, "3");
    expect(lineOf(world.textOf(KEY))).toBe("3");
  });

  test("a seal makes a new version of the same text, keeps its headers, and creates a missing object", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const [older, newer] = [leadership(4), leadership(5)];
    await store.fencedPut(older, KEY, "{}", { contentType: "application/json" });
    const before = world.server.bucket.objects.get(KEY)!;
    await store.seal(newer, KEY);
    const after = world.server.bucket.objects.get(KEY)!;

    expect([after.etag, after.generation]).not.toContain(protocol === "s3" ? before.etag : before.generation);
    expect(after.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(world.textOf(KEY)!)).toEqual({});
    if (protocol === "gcs") expect(world.textOf(KEY)).toBe("{}");
    await store.seal(newer, "reports/new");
    expect(lineOf(world.textOf("reports/new"))).toBe("");
  });

  test("a write whose reply was lost is recognized", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const newer = leadership(5);
    await store.fencedPut(newer, KEY, "1");
    let cut = true;
    world.answer((request) => {
      if (!cut || !isWriteOf(request, KEY)) return undefined;
      cut = false;
      world.server.bucket.put(KEY, request.body, request.headers, undefined);
      return refusal(500, "InternalError");
    });
    await store.fencedPut(newer, KEY, "2");
    expect(lineOf(world.textOf(KEY))).toBe("2");
  });

  test("an object that was deleted is not created again by a leadership that has seen it", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const [older, newer] = [leadership(4), leadership(5)];
    await store.seal(older, KEY);
    world.server.bucket.objects.delete(KEY);
    await expect(store.fencedPut(older, KEY, "1")).rejects.toThrow("deleted since this leadership saw it");
    await store.fencedPut(newer, KEY, "1");
  });

  test("another election's object, the store's own keys, dots and an empty key are refused", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const newer = leadership(5);
    await store.seal(leadership(1, "other"), KEY);
    await expect(store.fencedPut(newer, KEY, "1")).rejects.toThrow("is guarded by the election 'other'");
    for (const key of ["", "leasehold/e", "reports/../leasehold/e", "./leasehold/e", "reports/..", "."])
      await expect(store.seal(newer, key)).rejects.toThrow(ConfigurationError);
    await expect(store.seal(newer, undefined as never)).rejects.toThrow("The key of a guarded object is undefined;");
  });

  test.for<[what: string, body: Uint8Array, headers: Record<string, string>]>([
    ["an image", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff]), { "content-type": "image/png" }],
    ["a compressed text", gzipSync("{}"), { "content-type": "application/json", "content-encoding": "gzip" }],
  ])(
    "a seal refuses %s and leaves it as it is, and a fenced write replaces it by a text",
    async ([, body, headers], { open }) => {
      const world = await open(protocol);
      const store = world.store();
      const { bucket } = world.server;
      bucket.put(KEY, body, headers, undefined);

      await expect(store.seal(leadership(1), KEY)).rejects.toThrow(ConfigurationError);
      expect(bucket.objects.get(KEY)).toMatchObject({ body, headers });
      await store.fencedPut(leadership(1), KEY, "{}");
      expect(lineOf(world.textOf(KEY))).toBe("{}");
      expect(bucket.objects.get(KEY)?.headers).not.toHaveProperty("content-encoding");
    },
  );

  test.for<[fence: string, says: string | undefined]>([
    ["4 other w e", undefined],
    ["5 mine w e", undefined],
    ["5 other w e", "term 5"],
    ["6 mine w e", "term 6"],
    ["x mine w e", "its metadata has a fence that cannot be read"],
    ["5 mine w", "its metadata has a fence that cannot be read"],
    ["5 mine w %E0%A4%A", "its metadata has a fence that cannot be read"],
    ["5 mine w f", "is guarded by the election 'f', not by 'e'"],
  ])("the fence '%s' of an object lets term 5 write, or says why not: %s", async ([fence, says], { open }) => {
    const world = await open(protocol);
    const metadata = protocol === "s3" ? "x-amz-meta-leasehold-fence" : "x-goog-meta-leasehold-fence";
    world.server.bucket.put(KEY, new TextEncoder().encode("0"), { [metadata]: fence }, undefined);
    const writing = world.store().fencedPut(fakeLeadership({ election: "e", term: 5, termId: "mine" }), KEY, "1");
    if (says !== undefined) await expect(writing).rejects.toThrow(says);
    await writing.catch(() => undefined);
    expect(lineOf(world.textOf(KEY))).toBe(says === undefined ? "1" : "0");
  });

  test("a write that meets others each time fails after five tries", async ({ open }) => {
    const world = await open(protocol);
    world.answer((request) => (isWriteOf(request, KEY) ? refusal(412, "PreconditionFailed") : undefined));
    const writing = world.store().fencedPut(leadership(1), KEY, "1");
    const details = { store: protocol, operation: "fenced-put", election: "e", mayHaveBeenApplied: false };
    await expect(writing).rejects.toMatchObject({ code: "STORE_CONFLICT", ...details });
    await expect(writing).rejects.toThrow(`others kept writing the object '${KEY}'.`);
    expect(world.requests.filter((request) => isWriteOf(request, KEY))).toHaveLength(5);
  });

  test("a service that keeps no conditions guards nothing", async ({ open }) => {
    const world = await open(protocol);
    world.server.bucket.laxity = "ignores-version";
    await expect(world.store().fencedPut(leadership(1), KEY, "1")).rejects.toThrow("does not keep the conditions of writes");
    expect(world.textOf(KEY)).toBeUndefined();
  });
});

describe("on a service that takes one write a second of each object", () => {
  let clock: VirtualClock;
  let begunMs: number;
  let writes: number;
  let store: ObjectStorageLeaseStore;
  let bucket: ObjectBucket;
  let takes: (sinceLastMs: number) => boolean;

  beforeEach(() => {
    clock = new VirtualClock();
    begunMs = clock.monotonicMs();
    bucket = new ObjectBucket(BUCKET, () => clock.wallMs());
    writes = 0;
    takes = (sinceLastMs) => sinceLastMs >= 1_000;
    let lastMs = -Infinity;
    const carry: Carry = async (serve, operation) => {
      await Promise.resolve();
      if (operation !== `PUT /${BUCKET}/${KEY}`) return serve();
      writes += 1;
      if (!takes(clock.monotonicMs() - lastMs)) return refusal(429, "SlowDown");
      lastMs = clock.monotonicMs();
      return serve();
    };
    store = new ObjectStorageLeaseStore({ client: directClient(bucket, carry), bucket: BUCKET, clock });
  });

  test("a fenced write after a seal waits a second, and succeeds", async () => {
    await clock.runUntil(store.seal(leadership(1), KEY));
    await clock.runUntil(store.fencedPut(leadership(1), KEY, "1"));
    expect(new TextDecoder().decode(bucket.objects.get(KEY)?.body)).toBe("1");
    expect([writes, clock.monotonicMs() - begunMs]).toEqual([3, 1_000]);
  });

  test("a write that is never taken fails after five tries, and one that is given up waits no longer", async () => {
    takes = () => false;
    const failed = store.fencedPut(leadership(1), KEY, "1");
    await expect(clock.runUntil(failed)).rejects.toMatchObject({ code: "STORE_THROTTLED", mayHaveBeenApplied: false });
    expect([writes, clock.monotonicMs() - begunMs]).toEqual([5, 4_000]);

    const stopping = new AbortController();
    const given = store.fencedPut(leadership(1), KEY, "1", { signal: stopping.signal }).catch((error: unknown) => error);
    await clock.advance(500);
    stopping.abort(new Error("stopped"));
    await expect(given).resolves.toHaveProperty("message", "stopped");
    expect(writes).toBe(6);
  });
});
