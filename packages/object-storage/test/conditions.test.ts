import { ConfigurationError } from "@leasehold/core";
import { vacantRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { ObjectBucket } from "@leasehold/test-kit/object-server/object-bucket";
import { BUCKET } from "@leasehold/test-kit/object-server/server";
import { directClient, type Carry } from "@leasehold/test-kit/simulated/object-client";
import { describe, expect } from "vitest";
import { isWriteOf, lead, LIMITS, PROTOCOLS, refusal, test } from "./object-world.ts";

const PROBE = ".probe";

describe.each(PROTOCOLS)("on %s", (protocol) => {
  test.for(["ignores-absent", "ignores-version"] as const)(
    "a service that %s is found out before anybody leads",
    async (laxity, { open }) => {
      const world = await open(protocol);
      world.server.bucket.laxity = laxity;
      const store = world.store();

      await expect(lead(store)).rejects.toThrow("does not keep the conditions of writes");
      await expect(store.check({ election: "e" })).rejects.toThrow(ConfigurationError);

      expect(world.textOf("leasehold/e")).toBeUndefined();
    },
  );

  test("each store proves the conditions before its first write, and only once", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const probes = (): number => world.requests.filter((request) => request.target.includes(PROBE)).length;

    const lease = await lead(store);
    expect(world.requests.findIndex((request) => isWriteOf(request, "/leasehold/e"))).toBeGreaterThan(4);
    // The first process of all creates the object, and then proves it.
    expect(probes()).toBe(4);
    await store.renew(lease, LIMITS);
    expect(probes()).toBe(4);
    await store.release(lease, LIMITS);
    // All elections of a process share a proof.
    const other = world.store();
    await Promise.all(["e", "f", "g"].map(async (election) => await lead(other, election)));
    expect(probes()).toBe(6);
  });

  test("a proof that gets no answer is sent again with the next write, and the lease is not written", async ({ open }) => {
    const world = await open(protocol);
    world.answer((request) => (isWriteOf(request, PROBE) ? refusal(500, "InternalError") : undefined));
    const store = world.store();
    await expect(lead(store)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    expect(world.textOf("leasehold/e")).toBeUndefined();

    world.answer(() => undefined);
    await expect(lead(store)).resolves.toMatchObject({ term: 1 });
  });

  test("check() finds out a service that looks at a version first, and writes afterwards", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    await store.check({ election: "e" });
    const { etag, generation } = world.server.bucket.objects.get(`leasehold/${PROBE}`)!;
    const headers = { "x-amz-request-id": "R", "x-guploader-uploadid": "R", etag: '"new"', "x-goog-generation": "2" };
    const accepted = { status: 200, headers, body: new Uint8Array() };
    world.answer(({ headers: sent }) => {
      const isOfPresent = sent["if-match"] === etag || sent["x-goog-if-generation-match"] === generation;
      return isOfPresent ? accepted : undefined;
    });

    await expect(store.check({ election: "e" })).rejects.toThrow("8 of 8 writes on one version succeeded");
  });

  test("check() lets one of eight writes on a version succeed, and leaves no lease", async ({ open }) => {
    const world = await open(protocol);
    await expect(world.store().check({ election: "e" })).resolves.toMatchObject({ warnings: [] });
    expect([...world.server.bucket.objects.keys()]).toEqual([`leasehold/${PROBE}`]);
  });
});

test("a proof that is never answered ends after its time, and the next write sends another one", async () => {
  const clock = new VirtualClock();
  const bucket = new ObjectBucket(BUCKET, () => clock.monotonicMs());
  let isSilent = true;
  const carry: Carry = async (serve) => (isSilent ? await new Promise<never>(() => undefined) : serve());
  const store = new ObjectStorageLeaseStore({ client: directClient(bucket, carry), bucket: BUCKET, clock });
  const records = store.records;
  const put = async (): Promise<unknown> => {
    const signal = new AbortController().signal;
    return await records.put("e", vacantRecord({ term: 1, nonce: "n" }), { ifVersion: undefined, keepsNonce: false, signal });
  };

  const first = put().catch((error: unknown) => error);
  await clock.advance(6_000);
  await expect(first).resolves.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
  isSilent = false;
  await expect(put()).resolves.toMatchObject({ stored: true });
});
