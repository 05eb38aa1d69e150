import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { Player, Scene } from "./scene.ts";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { test } from "./test.ts";
import { RETRY_PERIOD_MS, ROUND_TRIPS_MS } from "./timing.ts";

const OUTAGE_MS = 20_000;

describe.concurrent("a store that is away for 20 s", () => {
  test("because it stands still: one leads soon after", async ({ ownAzurite, ownScene }) => {
    const { leader, standbys } = await ownScene.cast(3);
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    await ownAzurite.pause();
    await delay(OUTAGE_MS);
    const backMs = hostMs();
    ownAzurite.resume();

    await expectOneLeader(ownScene, [leader, ...standbys], backMs);
  });

  test("because nobody can reach it: one leads soon after", async ({ scene }) => {
    const { leader, standbys } = await scene.cast(3);
    const all = [leader, ...standbys];
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    for (const { proxy } of all) proxy.partition(true);
    await delay(OUTAGE_MS);
    const backMs = hostMs();
    for (const { proxy } of all) proxy.partition(false);

    await expectOneLeader(scene, all, backMs);
  });
});

async function expectOneLeader(scene: Scene, players: readonly Player[], backMs: number): Promise<void> {
  const isAfter = ({ atMs }: { readonly atMs: number }): boolean => atMs > backMs;
  const [winner] = await Promise.race(
    players.map(async ({ candidate }) => [candidate, await candidate.said("startedLeading", { where: isAfter })] as const),
  );
  // Long enough for all the others to have looked, and to have tried if they were to.
  await winner.said("granted", { after: winner.last("startedLeading"), where: ({ by }) => by === "renew" });
  const starts = players.flatMap(({ candidate }) => candidate.all("startedLeading").filter(isAfter));
  expect(starts).toHaveLength(1);
  expect(starts[0]!.atMs - backMs).toBeLessThanOrEqual(2 * RETRY_PERIOD_MS + ROUND_TRIPS_MS);
  expect(scene.worstOverlapMs).toBeLessThanOrEqual(0);
  for (const { candidate } of players) {
    expect(candidate.lines.filter(({ event }) => event === "exited" || event === "unhandled" || event === "runRejected")).toEqual(
      [],
    );
  }
}
