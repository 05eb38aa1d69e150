import type { Leadership } from "@leasehold/core";
import { describe, expect } from "vitest";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import type { FirestoreWorld } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const LEASE_MS = 2_000;
const OPTIONS = { leaseDurationMs: LEASE_MS };

/** A leader whose connection can be cut, as if it had crashed. */
async function crashingLeader(world: FirestoreWorld): Promise<{ readonly leadership: Leadership; crash(): Promise<number> }> {
  const proxy = await startTcpFaultProxy(Number(world.host.split(":")[1]));
  world.ended.addEventListener("abort", () => void proxy.stop());
  const { elector } = world.candidate("crashing", { ...OPTIONS, firestore: world.client({ host: proxy.host }) });
  let renewedMs = performance.now();
  elector.on("renewed", () => (renewedMs = performance.now()));
  const leadership = await elector.campaign();
  return {
    leadership,
    crash: async () => {
      // Right after a renewal, so that it is known when the lease runs out.
      await new Promise((resolve) => elector.on("renewed", resolve));
      proxy.cut();
      return renewedMs;
    },
  };
}

describe("electors on Firestore, with a lease of two seconds", () => {
  test("take over from a leader that crashed, once its lease has run out; and it has stepped down before", async ({ world }) => {
    world.letTimeRun();
    const crashing = await crashingLeader(world);
    const standby = world.candidate("standby", OPTIONS).elector;
    const next = standby.campaign();
    await expect.poll(() => standby.leader?.candidateId).toBe("crashing");
    const renewedMs = await crashing.crash();

    await using leadership = await next;

    expect(performance.now() - renewedMs).toBeGreaterThan(LEASE_MS * 0.95);
    expect(leadership.term).toBe(2);
    expect(crashing.leadership.isValid()).toBe(false);
    expect(crashing.leadership.signal.aborted).toBe(true);
  });

  test("that start after the crash count from the last renewal, not from their own start", async ({ world }) => {
    world.letTimeRun();
    const crashing = await crashingLeader(world);
    await crashing.crash();
    world.moveServerClock(LEASE_MS);

    const methods = await world.methodsDuring(async () => {
      await using leadership = await world.candidate("late", OPTIONS).elector.campaign();
      expect(leadership.term).toBe(2);
    });

    // The first look, the acquisition and the release: counted from its own start, it would have had to look again.
    expect(methods.filter((method) => method !== "Listen")).toEqual(["BatchGetDocuments", "Commit", "Commit"]);
  });

  test("try once, cold: not while the lease runs, and with one look and one write when it has run out", async ({ world }) => {
    world.letTimeRun();
    const crashing = await crashingLeader(world);
    await crashing.crash();

    const early = await world.candidate("early", OPTIONS).elector.tryRun(() => "ran");
    expect(early).toMatchObject({ elected: false, leader: { candidateId: "crashing", term: 1 } });
    // By the server's clock alone: this process has seen nothing for a lease.
    world.moveServerClock(LEASE_MS);
    const cold = world.candidate("cold", OPTIONS).elector;
    const methods = await world.methodsDuring(async () => {
      await expect(cold.tryRun(() => "ran")).resolves.toEqual({ elected: true, term: 2, result: "ran" });
    });

    // The look, the acquisition and the release.
    expect(methods.filter((method) => method !== "Listen")).toEqual(["BatchGetDocuments", "Commit", "Commit"]);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 2 });
  });

  test("tell an observer who leads, and that nobody does", async ({ world }) => {
    world.letTimeRun();
    const { elector } = world.candidate("a", { ...OPTIONS, value: "http://a" });
    const seen: Array<string | undefined> = [];
    const watching = (async () => {
      for await (const leader of world.candidate("observer", OPTIONS).elector.observe({ signal: world.ended })) {
        seen.push(leader && `${leader.candidateId} ${leader.value}`);
      }
    })();
    const leadership = await elector.campaign();
    await expect.poll(() => seen.at(-1)).toBe("a http://a");
    await leadership.publish("http://b");
    await expect.poll(() => seen.at(-1)).toBe("a http://b");
    await leadership.release();
    await expect.poll(() => seen.at(-1)).toBeUndefined();
    expect(seen).toContain("a http://b");
    void watching;
  });
});
