/** A container of Azure as a member, with records in blobs of their own. */
import { MemoryRecordStore } from "@leasehold/core/provider";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { expect, onTestFinished, test } from "vitest";

const election = "nightly-billing";
const PATIENT = { timeoutMs: 20_000 };
const TIMES = { leaseDurationMs: 60_000, renewIntervalMs: 20_000, ...PATIENT };

test("leases are kept where a blob carries the majority, and are none of the container's own", async () => {
  const azurite = await startAzurite();
  onTestFinished(() => azurite.stop());
  const container = containerClient(azurite.url);
  await container.create();
  const blobs = new BlobLeaseStore({ container });
  const [b, c] = [new MemoryRecordStore(), new MemoryRecordStore()];
  const down = { name: "down", capabilities: c.capabilities, get: silent, put: silent };
  const store = new QuorumLeaseStore({ members: { a: blobs, b, c } });

  const won = await store.acquire({ election, candidateId: "one", value: "é", ...TIMES });
  if (!won.acquired) return expect.fail("Nobody else competes.");
  expect(await store.renew(won.lease, PATIENT)).toMatchObject({ held: true });
  // Only the blob and b answer.
  const other = new QuorumLeaseStore({ members: { a: blobs, b, c: down } });
  expect(await other.read(election, PATIENT)).toMatchObject({ holder: "one", value: "é", term: 1 });
  expect(await store.release(won.lease, PATIENT)).toBe("released");
  expect(await other.read(election, PATIENT)).toMatchObject({ state: "vacant" });
  expect(await other.acquire({ election, candidateId: "two", ...TIMES })).toMatchObject({ lease: { term: 2 } });

  expect(await blobs.read(election, PATIENT)).toBeUndefined();
  expect(await container.getBlobClient(`records/${election}`).exists()).toBe(true);
  const single = new BlobLeaseStore({ blob: container.getBlobClient("one") });
  expect(() => new QuorumLeaseStore({ members: { a: single, b, c } })).toThrow("has no place for records; pass its container");
});

function silent(): Promise<never> {
  return Promise.reject(new Error("no connection"));
}
