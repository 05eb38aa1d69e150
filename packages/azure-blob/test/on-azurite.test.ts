/** These tests need the wire. All others of the store use the simulated service. */
import { describe, expect } from "vitest";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { test } from "./world-test.ts";

describe("a blob on the wire", () => {
  test.for([
    ["of one byte each", "v".repeat(2_048)],
    ["of four bytes each", "𝄞".repeat(512)],
    ["that all must be encoded", "%".repeat(2_048)],
  ] as const)("takes a value of 2,048 bytes %s, with the longest names", async ([, value], { world }) => {
    const longest = "界".repeat(85);
    await win(world.store(), {
      election: longest,
      candidateId: longest,
      value,
      reservation: { group: longest, durationMs: 60_000 },
    });

    await expect(world.store().read(longest)).resolves.toMatchObject({ holder: longest, value });
  });

  test("keeps the metadata of others at every write", async ({ world }) => {
    await world.container.create();
    await world.container.getBlockBlobClient(ELECTION).upload("", 0, { metadata: { owner: "Mueller", Stage: "Prod" } });
    const store = world.store();

    const lease = await win(store, { value: "http://a" });
    await store.publish(lease, "http://b", LIMITS);
    await store.release(lease, LIMITS);

    const { metadata = {} } = await world.blob.getProperties();
    const lowerCase = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key.toLowerCase(), value]));
    expect(lowerCase).toMatchObject({ owner: "Mueller", stage: "Prod", leasehold_term: "1" });
  });

  test("is never deleted, and gets no content", async ({ world }) => {
    const store = world.store();
    const sent = await world.requestsDuring(async () => {
      await store.publish(await win(store), "value", LIMITS);
      await store.break(ELECTION, { reason: "test", immediate: true });
      await store.release(await win(store), LIMITS);
    });

    expect(sent.filter(({ method, body }) => method === "DELETE" || body.length > 0)).toEqual([]);
  });
});

describe("a guarded blob on the wire", () => {
  test("takes text and bytes with a type, and keeps both and its other metadata when it is sealed", async ({ world }) => {
    const store = world.store();
    const { term, termId } = await win(store);
    const leadership = { election: ELECTION, term, termId } as Parameters<typeof store.seal>[0];
    const blob = world.container.getBlockBlobClient("report.json");
    await blob.upload("content", 7, { metadata: { owner: "ops" } });
    const blobHTTPHeaders = { blobContentType: "text/plain; charset=utf-8" };

    for (const content of ["grüße 🔧", new Uint8Array([0, 255, 128])]) {
      await store.fencedUpload(leadership, blob, content, { metadata: { revision: "7" }, blobHTTPHeaders });
      await store.seal(leadership, blob);

      expect(await blob.downloadToBuffer()).toEqual(Buffer.from(content as string));
      await expect(blob.getProperties()).resolves.toMatchObject({
        contentType: "text/plain; charset=utf-8",
        metadata: { owner: "ops", revision: "7", leasehold_fence_term: "1", leasehold_fence_termid: termId },
      });
    }
  });
});
