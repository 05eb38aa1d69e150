/** Who wins where several claim at once, and when who has lost claims again. */
import { expect, test } from "vitest";
import { VotingLeaseStore } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const LEASE_MS = 3_000;
const RETRY_MS = 2_000;
const request = (candidateId: string) => ({
  election: "e",
  candidateId,
  leaseDurationMs: LEASE_MS,
  renewIntervalMs: 1_000,
  timeoutMs: 300,
});

/** Servers that have started, with a store each. */
async function startedWith(count: number): Promise<{ cluster: Cluster; stores: Map<string, VotingLeaseStore> }> {
  const cluster = new Cluster(count);
  await cluster.start();
  return { cluster, stores: new Map(cluster.names.map((name) => [name, new VotingLeaseStore(cluster.server(name))])) };
}

/** Those that have won, of claims that begin at one instant. One that fails has not. */
async function winners(cluster: Cluster, stores: Map<string, VotingLeaseStore>, names: readonly string[]): Promise<string[]> {
  const claims = names.map(async (name) => {
    const outcome = await stores
      .get(name)
      ?.acquire(request(name))
      .catch(() => undefined);
    return outcome?.acquired === true ? [name] : [];
  });
  return (await cluster.clock.runUntil(Promise.all(claims))).flat();
}

test("a claim that its own server alone has granted, too early, splits no votes after it", async () => {
  const { cluster, stores } = await startedWith(3);
  const leading = await cluster.clock.runUntil(stores.get("c")!.acquire(request("c")));
  if (!leading.acquired) expect.fail("It was not elected.");
  // The last LEAD of c comes to b a tenth of a second later than to a.
  cluster.away.add("b");
  await cluster.clock.runUntil(stores.get("c")!.renew(leading.lease, { timeoutMs: 300 }));
  await cluster.clock.advance(100);
  await cluster.deliver(cluster.sent.findLast(({ to, content }) => to === "b" && content.kind === "LEAD")!);
  cluster.away.delete("b");
  cluster.away.add("c");
  await cluster.clock.advance(LEASE_MS - 100);
  expect(await winners(cluster, stores, ["a"])).toEqual([]);
  await cluster.clock.advance(100);
  expect(await winners(cluster, stores, ["a", "b"])).toEqual(["b"]);
});

test("who has lost to one that does not lead claims again after a pause that is drawn, not after a whole retry period", async () => {
  const { cluster, stores } = await startedWith(3);
  // It wins the trial, and cannot keep its own vote.
  cluster.broken.add("a");
  expect(await winners(cluster, stores, ["a", "b", "c"])).toEqual([]);
  const waits = ["b", "c"].map((name) => stores.get(name)!.nextLookMs("e", RETRY_MS));
  expect(Math.min(...waits)).toBeGreaterThan(20);
  expect(Math.max(...waits)).toBeLessThan(200);
  expect(new Set(waits).size).toBe(2);
  await cluster.clock.advance(Math.min(...waits));
  expect(await winners(cluster, stores, ["a", "b", "c"])).toEqual(["b"]);
});

test("who is refused by servers that a RELEASE has not reached yet claims again soon", async () => {
  const { cluster, stores } = await startedWith(5);
  const leading = await cluster.clock.runUntil(stores.get("a")!.acquire(request("a")));
  if (!leading.acquired) expect.fail("It was not elected.");
  for (const name of ["c", "d", "e"]) cluster.away.add(name);
  await cluster.clock.runUntil(
    stores
      .get("a")!
      .release(leading.lease, { timeoutMs: 300 })
      .catch(() => undefined),
  );
  cluster.away.clear();
  expect(await winners(cluster, stores, ["b"])).toEqual([]);
  expect(stores.get("b")!.nextLookMs("e", RETRY_MS)).toBeLessThan(200);
});

test("a release is not held, where a majority answers it and one of these knows a later term", async () => {
  const { cluster, stores } = await startedWith(3);
  const leading = await cluster.clock.runUntil(stores.get("a")!.acquire(request("a")));
  if (!leading.acquired) expect.fail("It was not elected.");
  cluster.away.add("a");
  await cluster.clock.advance(2 * LEASE_MS);
  expect(await winners(cluster, stores, ["b"])).toEqual(["b"]);
  cluster.away.delete("a");
  cluster.away.add("c");
  expect(await cluster.clock.runUntil(stores.get("a")!.release(leading.lease, { timeoutMs: 300 }))).toBe("not-held");
});

test("a server whose claims fail, because no answer comes back to it, is preferred to nobody until it has led", async () => {
  const { cluster, stores } = await startedWith(3);
  cluster.deaf.add("a");
  expect(await winners(cluster, stores, ["a", "b"])).toEqual([]);
  await cluster.clock.advance(100);
  expect(await winners(cluster, stores, ["a", "b"])).toEqual(["b"]);
});

test("a read that nobody answers is called off at once", async () => {
  const { cluster, stores } = await startedWith(3);
  cluster.away.add("b").add("c");
  const stopping = new AbortController();
  const read = stores.get("a")!.read("e", { signal: stopping.signal });
  const reason = new Error("the caller's own reason");
  stopping.abort(reason);
  await expect(read).rejects.toBe(reason);
});
