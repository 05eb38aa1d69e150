import { gzipSync } from "node:zlib";
import { ConfigurationError, FencedError, type Leadership } from "@leasehold/core";
import { fakeLeadership } from "@leasehold/core/testing";
import { describe, expect } from "vitest";
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

  test("a service that keeps no conditions guards nothing", async ({ open }) => {
    const world = await open(protocol);
    world.server.bucket.laxity = "ignores-version";
    await expect(world.store().fencedPut(leadership(1), KEY, "1")).rejects.toThrow("does not keep the conditions of writes");
    expect(world.textOf(KEY)).toBeUndefined();
  });
});
