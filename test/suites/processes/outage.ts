import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { Player, Scene } from "./scene.ts";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { test, TIME_LIMIT_MS } from "./test.ts";
import { LEASE_MS } from "./timing.ts";

const OUTAGE_MS = 1.2 * LEASE_MS;

describe.concurrent("a store that stands still for longer than the lease", { timeout: TIME_LIMIT_MS }, () => {
  test("has one leader after that, and every process goes on", async ({ ownAzurite, ownScene }) => {
    const { leader, standbys } = await ownScene.cast(3);
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    await ownAzurite.pause();
    await delay(OUTAGE_MS);
    const backMs = hostMs();
    ownAzurite.resume();

    await expectOneLeader(ownScene, [leader, ...standbys], backMs);
  });
});

async function expectOneLeader(scene: Scene, players: readonly Player[], backMs: number): Promise<void> {
  const isAfter = ({ atMs }: { readonly atMs: number }): boolean => atMs > backMs;
  const [winner] = await Promise.race(
    players.map(async ({ candidate }) => [candidate, await candidate.said("startedLeading", { where: isAfter })] as const),
  );
  // This is long enough for all others to poll, and to try if they would.
  await winner.said("granted", { after: winner.last("startedLeading"), where: ({ by }) => by === "renew" });
  const starts = players.flatMap(({ candidate }) => candidate.all("startedLeading").filter(isAfter));
  expect(starts).toHaveLength(1);
  expect(scene.faults).toEqual([]);
  for (const { candidate } of players) {
    expect(candidate.lines.filter(({ event }) => event === "exited" || event === "unhandled" || event === "runRejected")).toEqual(
      [],
    );
  }
}
