/** A majority keeps a hold or an order, although one server starts with an older file, or with none. */
import { expect, test } from "vitest";
import type { AcquireOutcome, Lease } from "@leasehold/core/provider";
import { VotingLeaseStore } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const TIMEOUT = { timeoutMs: 300 };
const LEASE_MS = 6_000;
const HOLD_MS = 20_000;
const HANDOVER_MS = 30_000;

/** Three servers: a leads, and c is away. */
async function led(): Promise<{ cluster: Cluster; store: (name: string) => VotingLeaseStore; lease: Lease }> {
  const cluster = new Cluster();
  await cluster.start();
  const stores = new Map(cluster.names.map((name) => [name, new VotingLeaseStore(cluster.server(name))]));
  const store = (name: string): VotingLeaseStore => stores.get(name) ?? expect.fail();
  const request = { election: "e", candidateId: "a", leaseDurationMs: LEASE_MS, renewIntervalMs: 2_000, ...TIMEOUT };
  const outcome = await cluster.clock.runUntil(store("a").acquire(request));
  return { cluster, store, lease: outcome.acquired ? outcome.lease : expect.fail() };
}

/** Restarts one server with an older file, and another one with its own file. Then all servers are there to report. */
async function rollBack(cluster: Cluster, name: string, file: string | undefined, other?: string): Promise<void> {
  const restarted = other === undefined ? [name] : [name, other];
  for (const each of restarted) await cluster.server(each).close();
  cluster.disks.set(name, file);
  for (const each of restarted) cluster.startOne(each);
  await cluster.clock.advance(1_000);
}

for (const victim of ["b", "c"]) {
  // The servers with the order are b, which gives it, and c.
  test(`a break that a majority keeps ends the term, though ${victim} is given the former file`, async () => {
    const { cluster, store, lease } = await led();
    const older = cluster.disks.get(victim);
    cluster.away.add("a");
    const order = { reason: "tested", ...TIMEOUT };
    expect(await cluster.clock.runUntil(store("b").break("e", order))).toMatchObject({ broken: true });
    cluster.away.clear();
    await rollBack(cluster, victim, older, victim === "c" ? "b" : undefined);
    const renewed = await cluster.clock.runUntil(
      store("a")
        .renew(lease, TIMEOUT)
        .catch(() => undefined),
    );
    expect(renewed?.held).not.toBe(true);
  });
}

for (const victim of ["a", "b"]) {
  // The servers with the hold are a, which releases with it, and b.
  test(`a hold that a majority keeps blocks all candidates, though ${victim} is given the former file`, async () => {
    const { cluster, store, lease } = await led();
    const older = cluster.disks.get(victim);
    cluster.away.add("c");
    const release = store("a").release(lease, { ...TIMEOUT, holdMs: HOLD_MS });
    expect(await cluster.clock.runUntil(release)).toBe("released");
    cluster.away.clear();
    await rollBack(cluster, victim, older, victim === "b" ? "a" : undefined);
    await cluster.clock.advance(LEASE_MS + 2_000);
    const claim = { election: "e", candidateId: "c", leaseDurationMs: LEASE_MS, renewIntervalMs: 2_000, ...TIMEOUT };
    const outcome = await cluster.clock.runUntil(
      store("c")
        .acquire(claim)
        .catch(() => undefined),
    );
    expect(outcome?.acquired).not.toBe(true);
  });
}

test("an immediate break ends the term, though a server without it and then one with it lose their files", async () => {
  const { cluster, store, lease } = await led();
  await cluster.server("c").close();
  const order = { reason: "tested", immediate: true, ...TIMEOUT };
  expect(await cluster.clock.runUntil(store("b").break("e", order))).toMatchObject({ broken: true });
  for (const name of ["c", "b"]) await rollBack(cluster, name, undefined);
  expect(["a", "b", "c"].map((name) => cluster.server(name).takesPart)).toEqual([true, true, true]);

  const renewed = cluster.clock.runUntil(store("a").renew(lease, TIMEOUT));
  await expect(renewed).resolves.toMatchObject({ held: false });
});

test("a transfer blocks all but the named candidate, though one of two servers with the order has lost its file", async () => {
  const { cluster, store, lease } = await led();
  await cluster.clock.runUntil(store("a").release(lease, TIMEOUT));
  cluster.away.add("c");
  const transfer = store("b").transfer("e", "c", { transferTimeoutMs: HANDOVER_MS, ...TIMEOUT });
  transfer.catch(() => undefined);
  await cluster.clock.advance(1_000);
  cluster.away.clear();
  await rollBack(cluster, "b", undefined);
  // Wait until the lease that c knows has ended.
  await cluster.clock.advance(LEASE_MS);
  expect(cluster.server("b").takesPart).toBe(true);
  const claim = (by: VotingLeaseStore, candidateId: string): Promise<AcquireOutcome | undefined> => {
    const request = { election: "e", candidateId, leaseDurationMs: LEASE_MS, renewIntervalMs: 2_000, ...TIMEOUT };
    return cluster.clock.runUntil(by.acquire(request).catch(() => undefined));
  };

  const restarted = new VotingLeaseStore(cluster.server("b"));
  expect((await claim(restarted, "b"))?.acquired).not.toBe(true);
  expect(await claim(store("c"), "c")).toMatchObject({ acquired: true });
});
