/** Tests elections with many candidates, where each range over them costs etcd work in proportion to their number. */
import { Elector } from "@leasehold/core";
import type { Json } from "@leasehold/etcd";
import { expect, test } from "vitest";
import { VirtualEtcd } from "./virtual-etcd.ts";
import type { Wire } from "./wire.ts";

const CANDIDATES = 20;
const LEASE_MS = 15_000;

/** Counts the ranges that etcd reads for a process from now on. */
function rangesOf(wire: Wire): { count: number } {
  const ranges = { count: 0 };
  const { onCall } = wire;
  wire.onCall = async (path, body, send, options) => {
    const reply = await onCall(path, body, send, options);
    const branch = (reply.body["succeeded"] === true ? body["success"] : body["failure"]) as readonly Json[] | undefined;
    for (const { request_range: range } of branch ?? [])
      if ((range as Json | undefined)?.["range_end"] !== undefined) ranges.count += 1;
    return reply;
  };
  return ranges;
}

/** Starts candidates of one election, of which the first leads. */
async function crowded(etcd: VirtualEtcd): Promise<ReadonlyArray<{ readonly elector: Elector; readonly wire: Wire }>> {
  const candidates = [];
  for (let number = 0; number < CANDIDATES; number += 1) {
    const { store, wire } = etcd.connect();
    const elector = new Elector({ store, election: "e", candidateId: `c${number}`, leaseDurationMs: LEASE_MS, logger: false });
    void elector.run(async ({ ended }) => void (await ended));
    candidates.push({ elector, wire });
    await etcd.clock.advance(10);
  }
  await etcd.clock.advance(LEASE_MS);
  return candidates;
}

test("neither a leader nor a standby reads the whole queue again while no candidate before it goes", async () => {
  const etcd = new VirtualEtcd();
  const candidates = await crowded(etcd);
  const counts = candidates.map(({ wire }) => rangesOf(wire));
  await etcd.clock.advance(2 * LEASE_MS);

  expect(candidates.map(({ elector }) => elector.isLeader).indexOf(true)).toBe(0);
  expect(counts.map(({ count }) => count)).toEqual(candidates.map(() => 0));
});

test("a process reads the queue once, and again only after its leader has gone", async () => {
  const etcd = new VirtualEtcd();
  const [first, , third] = await crowded(etcd);
  const { store, wire } = etcd.connect();
  const ranges = rangesOf(wire);
  expect(await etcd.run(store.read("e"))).toMatchObject({ state: "held", holder: "c0" });
  expect(ranges.count).toBe(3);
  await etcd.run(third?.elector.stop() ?? Promise.resolve());
  expect(await etcd.run(store.read("e"))).toMatchObject({ holder: "c0" });
  expect(ranges.count).toBe(3);

  await etcd.run(first?.elector.stop() ?? Promise.resolve());
  await etcd.clock.advance(1_000);
  expect(await etcd.run(store.read("e"))).toMatchObject({ state: "held", holder: "c1" });
  expect(ranges.count).toBe(6);
  await etcd.run(store.break("e", { reason: "stuck" }));
  expect(await etcd.run(store.read("e"))).toMatchObject({ state: "ending", endingReason: "stuck" });
});
