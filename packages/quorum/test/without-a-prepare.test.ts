/** Tests that the holder of a lease writes without a prepare, as long as no other candidate may have taken over. */
import { RecordLeaseStore, SAFETY_MARGIN, type AcquireOutcome, type Lease } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { begun, ELECTION, LEASE_MS, World, type Client } from "./world.ts";

const VALID_MS = LEASE_MS * (1 - SAFETY_MARGIN);

test("a former leader does not release over a later term that one member has missed and another has forgotten", async () => {
  const { world, one, other, first } = await begun();
  await world.clock.advance(VALID_MS);
  const backup = world.services.b.backUp(ELECTION);
  world.down.add("c");
  other.term = 2;
  await other.put("second", first);
  world.down.delete("c");
  world.services.b.restore(ELECTION, backup);
  world.passage = ({ to }) => (to === "a" ? { arrivals: [{ afterMs: 20, replyAfterMs: 20 }] } : undefined);

  expect(await one.put("release", first)).toMatchObject({ stored: false, current: { data: { nonce: "second" } } });
});

test("a release within the lease is one request for each member", async () => {
  const { world, one, first } = await begun();
  await world.clock.advance(VALID_MS - 10);
  world.requests();

  expect(await one.put("release", first)).toMatchObject({ stored: true });
  expect(world.requests().toSorted()).toEqual(["one put a", "one put b", "one put c"]);
});

test("the lease counts from before the first send of a write, however often it is sent", async () => {
  const world = await World.founded();
  const { clock } = world;
  const [one, other, third] = ["one", "other", "third"].map((by) => world.open(by)) as [Client, Client, Client];
  const [first, second, last] = [one, other, third].map((by) => new RecordLeaseStore(by.store, { clock: by.clock })) as [
    RecordLeaseStore,
    RecordLeaseStore,
    RecordLeaseStore,
  ];
  const claim = (store: RecordLeaseStore, timeoutMs = 1_000): Promise<AcquireOutcome> =>
    store.acquire({ election: ELECTION, candidateId: "x", leaseDurationMs: LEASE_MS, renewIntervalMs: 1_000, timeoutMs });
  const begunMs = clock.monotonicMs();
  // a and b accept first, but their replies are lost; c misses the accept. After that a is silent for a while.
  const writes: Record<string, number> = {};
  world.passage = ({ by, to, operation }) => {
    if (by !== "one") return undefined;
    if (operation === "put") writes[to] = (writes[to] ?? 0) + 1;
    if (operation === "put" && writes[to] === 2) return { arrivals: to === "c" ? [] : [{ afterMs: 1 }] };
    return to === "a" && (writes[to] ?? 0) >= 2 ? { arrivals: [] } : undefined;
  };
  const acquiring = claim(first, 6_000);
  await clock.advance(500);
  // Other candidates count from here.
  expect(await clock.runUntil(second.read(ELECTION))).toMatchObject({ term: 1 });
  const acquired = await clock.runUntil(acquiring);
  const lease = acquired.acquired ? acquired.lease : expect.fail("It was not elected.");
  world.passage = () => undefined;
  const backup = world.services.b.backUp(ELECTION);
  await clock.advance(begunMs + LEASE_MS - 500 - clock.monotonicMs());
  world.down.add("c");
  let next: Lease | undefined;
  while (!next) {
    await clock.advance(100);
    const outcome = await clock.runUntil(claim(second));
    if (outcome.acquired) next = outcome.lease;
  }
  expect(await clock.runUntil(second.release(next, { timeoutMs: 1_000 }))).toBe("released");
  world.down.delete("c");
  await clock.advance(200);
  world.services.b.restore(ELECTION, backup);
  world.passage = ({ by, to }) => (by === "one" && to === "a" ? { arrivals: [{ afterMs: 20, replyAfterMs: 20 }] } : undefined);

  expect(await clock.runUntil(first.release(lease, { timeoutMs: 1_000 }))).toBe("not-held");
  world.down.add("a");
  expect(await clock.runUntil(claim(last))).toMatchObject({ acquired: true, lease: { term: next.term + 1 } });
});
