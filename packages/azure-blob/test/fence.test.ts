import type { BlockBlobClient } from "@azure/storage-blob";
import type { BlobLeaseStore } from "@leasehold/azure-blob";
import { ConfigurationError, FencedError, type Leadership } from "@leasehold/core";
import { describe, expect } from "vitest";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { ELECTION, win } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { LAPSE_MS, type BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

interface Led {
  readonly store: BlobLeaseStore;
  readonly leadership: Leadership;
}

/** Returns a leadership of one more process, after the one before has run out. */
async function led(world: BlobWorld, candidateId: string, election = ELECTION): Promise<Led> {
  const { store, elector } = world.candidate(candidateId, { election });
  await world.forward(LAPSE_MS);
  const leadership = await world.settled(elector.campaign());
  return { store, leadership };
}

/** Returns a leadership that does not know of its successor, and its successor's, which has not written yet. */
async function staleAndNew(world: BlobWorld): Promise<readonly [stale: Led, fresh: Led]> {
  const leases = [];
  for (const candidateId of ["a", "b"]) {
    const store = world.store();
    const { termId, term } = await win(store, { candidateId });
    const leadership = { ...(await leadershipShape(world)), election: ELECTION, candidateId, term, termId };
    leases.push({ store, leadership });
    await world.forward(LAPSE_MS);
  }
  return [leases[0]!, leases[1]!];
}

/** Returns the parts of a leadership that no fence uses. */
async function leadershipShape(world: BlobWorld): Promise<Leadership> {
  const { elector } = world.candidate("shape", { election: "shape" });
  const leadership = await world.settled(elector.campaign());
  await world.settled(leadership.release());
  return leadership;
}

function target(world: BlobWorld, name = "report.json"): BlockBlobClient {
  return containerClient(world.proxy.url, world.container.containerName).getBlockBlobClient(name);
}

async function contentOf(world: BlobWorld, name = "report.json"): Promise<string> {
  return (await world.container.getBlobClient(name).downloadToBuffer()).toString();
}

describe("a sealed blob", () => {
  test("cannot be opened by metadata that looks like a fence in capitals", async ({ world }) => {
    const [stale, fresh] = await staleAndNew(world);
    const blob = target(world);
    await fresh.store.seal(fresh.leadership, blob);
    const metadata = { Leasehold_Fence_Term: "1", LEASEHOLD_FENCE_TERMID: stale.leadership.termId };
    await fresh.store.fencedUpload(fresh.leadership, blob, "by the new leader", { metadata });

    await expect(stale.store.fencedUpload(stale.leadership, blob, "too late")).rejects.toBeInstanceOf(FencedError);
    await expect(contentOf(world)).resolves.toBe("by the new leader");
  });

  test("refuses the older term's writes, and is not changed", async ({ world }) => {
    const [stale, fresh] = await staleAndNew(world);
    const blob = target(world);
    await stale.store.fencedUpload(stale.leadership, blob, "by the old leader");
    await fresh.store.seal(fresh.leadership, blob);
    const before = await blob.getProperties();

    for (const attempt of [
      () => stale.store.fencedUpload(stale.leadership, blob, "too late"),
      () => stale.store.seal(stale.leadership, blob),
      // A process that has written nothing yet finds out by a read.
      () => world.store().fencedUpload({ ...stale.leadership }, blob, "too late"),
    ]) {
      const error = await world.witness.failureOf(attempt());
      expect(error).toBeInstanceOf(FencedError);
      expect(error).toMatchObject({ code: "FENCED", election: ELECTION, term: 1, currentTerm: 2 });
      expect(error.message).toContain("report.json");
    }
    await expect(contentOf(world)).resolves.toBe("by the old leader");
    expect((await blob.getProperties()).etag).toBe(before.etag);
  });

  test("is unchanged, apart from the seal", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await blob.upload("content", 7, { metadata: { owner: "ops" }, blobHTTPHeaders: { blobContentType: "application/json" } });

    await store.seal(leadership, blob);

    await expect(contentOf(world)).resolves.toBe("content");
    await expect(blob.getProperties()).resolves.toMatchObject({
      contentType: "application/json",
      metadata: {
        owner: "ops",
        leasehold_fence_election: ELECTION,
        leasehold_fence_term: "1",
        leasehold_fence_termid: leadership.termId,
      },
    });
  });

  test("is created empty if it does not exist", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    await store.seal(leadership, target(world));

    await expect(contentOf(world)).resolves.toBe("");
  });

  test("is open to the older term until it is sealed, as the capability says", async ({ world }) => {
    const [stale] = await staleAndNew(world);

    expect(stale.store.capabilities.fence).toBe("after-seal");
    await expect(stale.store.fencedUpload(stale.leadership, target(world), "before the seal")).resolves.toBeUndefined();
  });

  test("refuses another termId of the same term", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.fencedUpload(leadership, blob, "content");

    const error = await world.witness.failureOf(
      store.fencedUpload({ ...leadership, termId: crypto.randomUUID() }, blob, "by another"),
    );

    expect(error).toBeInstanceOf(FencedError);
    expect(error).toMatchObject({ term: 1, currentTerm: 1 });
    await expect(contentOf(world)).resolves.toBe("content");
  });

  test("that its leader deletes is not created again by the leader before", async ({ world }) => {
    const [stale, fresh] = await staleAndNew(world);
    const blob = target(world);
    await stale.store.fencedUpload(stale.leadership, blob, "before");
    await fresh.store.seal(fresh.leadership, blob);

    await expect(world.witness.failureOf(stale.store.fencedDelete(stale.leadership, blob))).resolves.toBeInstanceOf(FencedError);
    await expect(contentOf(world)).resolves.toBe("before");
    await fresh.store.fencedDelete(fresh.leadership, blob);

    const error = await world.witness.failureOf(stale.store.fencedUpload(stale.leadership, blob, "late"));
    expect(error).toBeInstanceOf(FencedError);
    await expect(blob.exists()).resolves.toBe(false);
    await fresh.store.fencedUpload(fresh.leadership, blob, "again");
    await expect(contentOf(world)).resolves.toBe("again");
  });

  test("of another election is a configuration error", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const other = await led(world, "b", "andere Wahl");
    const blob = target(world);
    await other.store.fencedUpload(other.leadership, blob, "content");

    for (const attempt of [() => store.fencedUpload(leadership, blob, "by another"), () => store.seal(leadership, blob)]) {
      const error = await world.witness.failureOf(attempt());
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain("'andere Wahl'");
    }
    await expect(contentOf(world)).resolves.toBe("content");
  });

  test.for([
    [
      "a term that is no number",
      { leasehold_fence_election: ELECTION, leasehold_fence_term: "two", leasehold_fence_termid: "t" },
    ],
    ["no term", { leasehold_fence_election: ELECTION }],
    ["an election that cannot be decoded", { leasehold_fence_election: "%E0%A4%A", leasehold_fence_term: "9" }],
  ] as const)("with %s is not written over", async ([, metadata], { world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await blob.upload("content", 7, { metadata });

    for (const attempt of [() => store.fencedUpload(leadership, blob, "by another"), () => store.seal(leadership, blob)]) {
      const error = await world.witness.failureOf(attempt());
      expect(error.code).toMatch(/^(FOREIGN_RECORD|CONFIGURATION|FENCED)$/);
    }
    await expect(contentOf(world)).resolves.toBe("content");
  });
});

describe("a fenced upload", () => {
  test("takes one request once the blob was sealed or written; the first one also takes a read", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);

    await expect(world.namesDuring(() => store.seal(leadership, blob))).resolves.toEqual(["head", "put-blob"]);
    await expect(world.namesDuring(() => store.fencedUpload(leadership, blob, "1"))).resolves.toEqual(["put-blob"]);
    await expect(world.namesDuring(() => store.fencedUpload(leadership, blob, "2"))).resolves.toEqual(["put-blob"]);
    await expect(world.namesDuring(() => store.seal(leadership, blob))).resolves.toEqual(["metadata"]);
    await expect(contentOf(world)).resolves.toBe("2");
  });

  test("is conditional on the blob's ETag, or on its absence", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    const sent = await world.requestsDuring(async () => {
      await store.fencedUpload(leadership, blob, "1");
      await store.fencedUpload(leadership, blob, "2");
      await store.seal(leadership, blob);
    });

    const writes = sent.filter(({ method }) => method === "PUT");
    expect(writes.map(({ headers }) => [headers["if-none-match"], headers["if-match"] !== undefined])).toEqual([
      ["*", false],
      [undefined, true],
      [undefined, true],
    ]);
  });

  test("writes text and bytes, keeps the present metadata, and adds the given one", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await blob.upload("content", 7, { metadata: { owner: "ops" } });

    await store.fencedUpload(leadership, blob, "grüße 🔧", {
      metadata: { revision: "7" },
      blobHTTPHeaders: { blobContentType: "text/plain; charset=utf-8" },
    });
    await expect(contentOf(world)).resolves.toBe("grüße 🔧");
    await expect(blob.getProperties()).resolves.toMatchObject({
      contentType: "text/plain; charset=utf-8",
      metadata: { owner: "ops", revision: "7", leasehold_fence_term: "1" },
    });

    await store.fencedUpload(leadership, blob, new Uint8Array([0, 255, 128]));
    await expect(world.container.getBlobClient("report.json").downloadToBuffer()).resolves.toEqual(Buffer.from([0, 255, 128]));
    await expect(blob.getProperties()).resolves.toMatchObject({ metadata: { owner: "ops", revision: "7" } });
  });

  test("succeeds after other writes of the blob without a fence", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    await world.container
      .getBlockBlobClient("report.json")
      .setMetadata({ ...(await blob.getProperties()).metadata, owner: "ops" });

    const sent = await world.namesDuring(() => store.fencedUpload(leadership, blob, "content"));

    expect(sent).toEqual(["put-blob", "head", "put-blob"]);
    await expect(blob.getProperties()).resolves.toMatchObject({ metadata: { owner: "ops" } });
  });

  test("that other writers overtake repeatedly is an error, and nothing was written", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.proxy.rule = ({ name }) =>
      name === "put-blob"
        ? { kind: "answer", status: 412, headers: { "x-ms-error-code": "ConditionNotMet" }, body: "" }
        : undefined;

    const error = await world.witness.failureOf(store.fencedUpload(leadership, blob, "content"));

    expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
  });

  test("by several writers of one term at once writes each in turn", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);

    await Promise.all(["1", "2", "3"].map((content) => store.fencedUpload(leadership, blob, content)));

    await expect(contentOf(world)).resolves.toMatch(/^[123]$/);
    await expect(blob.getProperties()).resolves.toMatchObject({ metadata: { leasehold_fence_term: "1" } });
  });

  test("against a newer term that seals at the same time is never the last write", async ({ world }) => {
    const [stale, fresh] = await staleAndNew(world);
    for (let round = 0; round < 10; round += 1) {
      const blob = target(world, `report-${round}`);
      await stale.store.seal(stale.leadership, blob);
      const upload = stale.store.fencedUpload(stale.leadership, blob, "old").then(
        () => "written",
        (error: unknown) => (error as FencedError).code,
      );
      await fresh.store.seal(fresh.leadership, blob);
      const sealedWith = await contentOf(world, `report-${round}`);

      expect(await upload).toBe(sealedWith === "old" ? "written" : "FENCED");
      await expect(contentOf(world, `report-${round}`)).resolves.toBe(sealedWith);
      await expect(blob.getProperties()).resolves.toMatchObject({ metadata: { leasehold_fence_term: "2" } });
    }
  });

  test.for(["after", "mid-reply"] as const)("whose reply is lost (%s) is recognised as its own", async (side, { world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.faultOnce("put-blob", { kind: "cut", side });

    const sent = await world.namesDuring(() => store.fencedUpload(leadership, blob, "content"));

    expect(sent).toEqual(["put-blob", "head"]);
    await expect(contentOf(world)).resolves.toBe("content");
    // The next upload needs no read.
    await expect(world.namesDuring(() => store.fencedUpload(leadership, blob, "more"))).resolves.toEqual(["put-blob"]);
  });

  test("that is delivered twice is recognised as its own", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.faultOnce("put-blob", { kind: "duplicate" });

    await store.fencedUpload(leadership, blob, "content");

    await expect(contentOf(world)).resolves.toBe("content");
  });

  test("that did not arrive is an error, and nothing was written", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.faultOnce("put-blob", { kind: "cut", side: "before" });

    const error = await world.witness.failureOf(store.fencedUpload(leadership, blob, "content"));

    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "fenced-upload", election: ELECTION });
    await expect(contentOf(world)).resolves.toBe("");
  });

  test("whose reply is lost, and whose read fails too, says that it may have been applied", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.proxy.rule = ({ name }) => {
      if (name === "put-blob") return { kind: "cut", side: "after" };
      return name === "head" ? { kind: "cut", side: "before" } : undefined;
    };

    const error = await world.witness.failureOf(store.fencedUpload(leadership, blob, "content"));

    await expect(contentOf(world)).resolves.toBe("content");
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
  });

  test("whose reply is lost before a newer term seals does not claim that nothing was written", async ({ world }) => {
    const [stale, fresh] = await staleAndNew(world);
    const blob = target(world);
    await stale.store.seal(stale.leadership, blob);
    const look = world.holdOnce("head", onlyFor("put-blob", { kind: "cut", side: "after" }));
    const upload = world.witness.failureOf(stale.store.fencedUpload(stale.leadership, blob, "old"));
    await look.arrived;
    await fresh.store.seal(fresh.leadership, world.container.getBlockBlobClient("report.json"));
    await look.letGo();

    const error = await upload;

    await expect(contentOf(world)).resolves.toBe("old");
    expect(error.message).not.toContain("Nothing was written");
  });

  test("keeps a given time limit", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.proxy.rule = () => ({ kind: "black-hole", side: "request" });
    const startMs = world.clock.monotonicMs();

    const error = await world.settled(
      world.witness.failureOf(store.fencedUpload(leadership, blob, "content", { timeoutMs: 1_000 })),
    );

    expect(error).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(world.clock.monotonicMs() - startMs).toBeLessThan(2_500);
  });

  test("stops with the reason of its caller's signal", async ({ world }) => {
    const { store, leadership } = await led(world, "a");
    const blob = target(world);
    await store.seal(leadership, blob);
    world.proxy.rule = () => ({ kind: "black-hole", side: "request" });
    const stopping = new AbortController();
    const upload = store.fencedUpload(leadership, blob, "content", { signal: stopping.signal });
    const reason = new Error("the caller's own");
    stopping.abort(reason);

    await expect(upload).rejects.toBe(reason);
  });

  test("into a container that does not exist is an error that says so", async ({ world }) => {
    const { store, leadership } = await led(world, "a");

    const error = await world.witness.failureOf(
      store.fencedUpload(leadership, containerClient(world.proxy.url).getBlobClient("report.json"), "content"),
    );

    expect(error).toMatchObject({ code: "STORE_MISSING" });
  });

  test("to an object that is not a blob client is a configuration error", async ({ world }) => {
    const { store, leadership } = await led(world, "a");

    for (const blob of [undefined, null, "report.json", world.container]) {
      await expect(world.witness.failureOf(store.fencedUpload(leadership, blob as never, "content"))).resolves.toBeInstanceOf(
        ConfigurationError,
      );
      await expect(world.witness.failureOf(store.seal(leadership, blob as never))).resolves.toBeInstanceOf(ConfigurationError);
    }
  });

  test("of a leader that was paused, to a blob that its successor has sealed, is refused by the service alone", async ({
    world,
  }) => {
    const first = world.candidate("a");
    const leadership = await world.settled(first.elector.campaign());
    const blob = target(world);
    await first.store.seal(leadership, blob);
    // Its process does not learn that time has passed.
    await world.elsewhere(LAPSE_MS);
    const second = world.candidate("b");
    await world.settled(
      second.elector.tryRun(async (successor) => {
        await second.store.seal(successor, blob);
        expect(leadership.isValid()).toBe(true);
        await expect(world.witness.failureOf(first.store.fencedUpload(leadership, blob, "too late"))).resolves.toBeInstanceOf(
          FencedError,
        );
      }),
    );
    await expect(contentOf(world)).resolves.toBe("");
    await world.settled(leadership.release());
  });
});
