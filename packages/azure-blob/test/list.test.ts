import { BlobLeaseStore } from "@leasehold/azure-blob";
import type { ListedElection, LeaseStore } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { win } from "@leasehold/test-kit/acquisitions";
import { test } from "./world-test.ts";

async function listOf(store: LeaseStore, prefix = ""): Promise<readonly ListedElection[]> {
  return await Array.fromAsync(store.list(prefix));
}

describe("a list of blobs", () => {
  test("is empty where the container is missing", async ({ world }) => {
    expect(await listOf(world.store())).toEqual([]);
  });

  test("has no notes, and shows the reason of a break", async ({ world }) => {
    const store = world.store();
    await win(store, { election: "broken" });
    await store.break("broken", { reason: "stuck" });
    await world.container.getBlockBlobClient("other program").upload("", 0);
    await world.container.getBlockBlobClient("ticks/broken/now").upload("", 0);
    expect(await listOf(world.store())).toMatchObject([{ election: "broken", state: "ending", endingReason: "stuck" }]);
  });

  test("of a store with one blob has that election alone", async ({ world }) => {
    await win(world.store(), { election: "mine" });
    await win(world.store(), { election: "mine-too" });
    const store = new BlobLeaseStore({ blob: world.proxied.getBlobClient("mine"), clock: world.clock });
    expect(await listOf(store)).toMatchObject([{ election: "mine" }]);
    expect(await listOf(store, "mi")).toMatchObject([{ election: "mine" }]);
    expect(await listOf(store, "mine-")).toEqual([]);
  });

  test("of records has each once, and no leases", async ({ world }) => {
    const store = world.store();
    await win(store, { election: "lease" });
    const records = new RecordLeaseStore(store.records, { clock: world.clock });
    for (const election of ["p%q", "p/q", "q"]) await win(records, { election });
    expect((await listOf(records, "p")).map(({ election }) => election)).toEqual(["p%q", "p/q"]);
    const occurrences = store.occurrences("lease", { retentionMs: 60_000 });
    expect(() => occurrences.list()).toThrow("azure-blob cannot list its elections.");
  });
});
