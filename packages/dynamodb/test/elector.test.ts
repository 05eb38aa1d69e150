import { Elector, type Leadership } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { expect, onTestFinished, vi } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { clientOf, type TableWorld } from "./table-world.ts";
import { test } from "./world-test.ts";

const LEASE_MS = 2_000;

interface Candidate {
  readonly elector: Elector;
  readonly leaderships: Leadership[];
  readonly stop: () => Promise<void>;
}

/** A candidate that leads until it is stopped, in real time, through the proxy or past it. */
function candidate(world: TableWorld, endpoint: string, candidateId: string): Candidate {
  const client = clientOf(endpoint);
  const store = new DynamoDBLeaseStore({ client, tableName: world.tableName });
  const elector = new Elector({ store, election: ELECTION, candidateId, leaseDurationMs: LEASE_MS, retryPeriodMs: 200 });
  const stopping = new AbortController();
  const leaderships: Leadership[] = [];
  const running = elector.run(
    async (leadership) => {
      leaderships.push(leadership);
      await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
    },
    { signal: stopping.signal },
  );
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
    client.destroy();
  };
  onTestFinished(stop);
  return { elector, leaderships, stop };
}

test("a leader that is cut off steps down before another leads; one that stops hands over at once", async ({
  world,
  dynalite,
}) => {
  const a = candidate(world, world.proxy.url, "a");
  await vi.waitUntil(() => a.elector.isLeader, { timeout: 5_000, interval: 10 });
  const b = candidate(world, dynalite.url, "b");
  await vi.waitUntil(() => b.elector.leader?.candidateId === "a", { timeout: 5_000, interval: 10 });

  world.proxy.partition(true);
  const cutMs = performance.now();
  await vi.waitUntil(
    () => {
      expect([a, b].filter(({ elector }) => elector.isLeader).length).toBeLessThanOrEqual(1);
      return b.elector.isLeader;
    },
    { timeout: 8_000, interval: 5 },
  );
  expect(performance.now() - cutMs).toBeGreaterThan(LEASE_MS / 3);
  expect(a.leaderships[0]!.signal.aborted).toBe(true);
  expect(b.leaderships[0]).toMatchObject({ term: 2 });

  world.proxy.partition(false);
  await vi.waitUntil(() => a.elector.leader?.candidateId === "b", { timeout: 5_000, interval: 10 });
  const stoppedMs = performance.now();
  await b.stop();
  await vi.waitUntil(() => a.elector.isLeader, { timeout: 5_000, interval: 10 });
  // It looks every 200 ms; a lease would have taken ten times as long.
  expect(performance.now() - stoppedMs).toBeLessThan(LEASE_MS);
  expect(a.leaderships[1]).toMatchObject({ term: 3 });
  await a.stop();
});
