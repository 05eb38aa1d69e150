/** A majority keeps a hold or a break, although one server starts with an older file, or with none. */
import { expect, test } from "vitest";
import type { Lease } from "@leasehold/core/provider";
import { Cluster } from "./cluster.ts";

const TIMEOUT = { timeoutMs: 300 };
const LEASE_MS = 6_000;
const HOLD_MS = 20_000;

/** Three servers: a leads, and c is away. */
async function led(): Promise<{ cluster: Cluster; lease: Lease }> {
  const cluster = new Cluster();
  await cluster.start();
  const request = { election: "e", candidateId: "a", leaseDurationMs: LEASE_MS, renewIntervalMs: 2_000, ...TIMEOUT };
  return { cluster, lease: await cluster.wins("a", request) };
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
    const { cluster, lease } = await led();
    const older = cluster.disks.get(victim);
    cluster.away.add("a");
    const order = { reason: "tested", ...TIMEOUT };
    expect(await cluster.clock.runUntil(cluster.store("b").break("e", order))).toMatchObject({ broken: true });
    cluster.away.clear();
    await rollBack(cluster, victim, older, victim === "c" ? "b" : undefined);
    const renewed = await cluster.clock.runUntil(
      cluster
        .store("a")
        .renew(lease, TIMEOUT)
        .catch(() => undefined),
    );
    expect(renewed?.held).not.toBe(true);
  });
}

for (const victim of ["a", "b"]) {
  // The servers with the hold are a, which releases with it, and b.
  test(`a hold that a majority keeps blocks all candidates, though ${victim} is given the former file`, async () => {
    const { cluster, lease } = await led();
    const older = cluster.disks.get(victim);
    cluster.away.add("c");
    const release = cluster.store("a").release(lease, { ...TIMEOUT, holdMs: HOLD_MS });
    expect(await cluster.clock.runUntil(release)).toBe("released");
    cluster.away.clear();
    await rollBack(cluster, victim, older, victim === "b" ? "a" : undefined);
    await cluster.clock.advance(LEASE_MS + 2_000);
    const claim = { election: "e", candidateId: "c", leaseDurationMs: LEASE_MS, renewIntervalMs: 2_000, ...TIMEOUT };
    const outcome = await cluster.clock.runUntil(
      cluster
        .store("c")
        .acquire(claim)
        .catch(() => undefined),
    );
    expect(outcome?.acquired).not.toBe(true);
  });
}

test("after an immediate break, servers that lose their files one after the other accept no LEAD before the lease has ended", async () => {
  const { cluster } = await led();
  await cluster.server("c").close();
  const order = { reason: "tested", immediate: true, ...TIMEOUT };
  expect(await cluster.clock.runUntil(cluster.store("b").break("e", order))).toMatchObject({ broken: true });
  for (const name of ["c", "b"]) {
    await rollBack(cluster, name, undefined);
    await cluster.clock.advance(LEASE_MS - 1_500);
    expect(cluster.server(name).takesPart).toBe(false);
    await cluster.clock.advance(1_000);
    expect(cluster.server(name).takesPart).toBe(true);
  }
});
