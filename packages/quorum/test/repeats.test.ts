/** Tests how often a failed write is sent again to a member. */
import { StoreError } from "@leasehold/core";
import { MemoryRecordStore, type RecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import { recordOf, versionOf } from "./world.ts";

test("a renewal is sent again to a member that fails at once, after a pause each time, and at most twice", async () => {
  const clock = new VirtualClock();
  const records = new MemoryRecordStore(clock);
  const sentAtMs: number[] = [];
  let fails = false;
  const request = async <T>(send: () => Promise<T>): Promise<T> => {
    if (!fails) return await send();
    sentAtMs.push(clock.monotonicMs());
    // Without this limit the event loop would never be free again.
    if (sentAtMs.length > 100) return await new Promise<never>(() => {});
    throw new StoreError("STORE_TIMEOUT", "Cancelled.", { store: "c", operation: "any", mayHaveBeenApplied: true });
  };
  const c: RecordStore = {
    name: "c",
    capabilities: records.capabilities,
    get: (election) => request(() => records.get(election)),
    put: (...of) => request(() => records.put(...of)),
  };
  const store = new QuorumRecordStore({ a: new MemoryRecordStore(clock), b: new MemoryRecordStore(clock), c }, clock);
  const put = async (nonce: string, ifVersion?: string): Promise<string> => {
    const { signal } = new AbortController();
    return versionOf(
      await clock.runUntil(store.put("e", recordOf(nonce), { ifVersion, keepsNonce: false, signal, timeoutMs: 3_000 })),
    );
  };
  const second = await put("second", await put("first"));
  await clock.advance(1_000);
  fails = true;
  await put("third", second);
  await clock.advance(4_000);

  expect(sentAtMs).toHaveLength(3);
  const pausesMs = sentAtMs.slice(1).map((atMs, index) => atMs - (sentAtMs[index] as number));
  // A quarter of 750 ms, half of that less or more.
  for (const pauseMs of pausesMs) expect(pauseMs).toBeGreaterThan(93);
  for (const pauseMs of pausesMs) expect(pauseMs).toBeLessThan(282);
});
