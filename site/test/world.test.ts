import { describe, expect, it } from "vitest";
import { SeededRandom } from "@leasehold/core/testing";
import { ACTIONS, CANDIDATES, DEFAULT_SETTINGS, PlaygroundWorld, STEP_MS, type Action } from "../playground/world.ts";
import { linkOf, readLink, type Situation } from "../playground/link.ts";

async function pass(world: PlaygroundWorld, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) await world.step();
}

describe("the playground's world", () => {
  it("has one leader after a lease", async () => {
    const world = new PlaygroundWorld();
    await pass(world, DEFAULT_SETTINGS.leaseDurationMs);
    expect(world.valid()).toHaveLength(1);
    expect(world.writes).toBeGreaterThan(0);
  });

  it("never has two valid candidates, whatever a reader clicks", async () => {
    const world = new PlaygroundWorld();
    const random = new SeededRandom(26);
    for (let clicks = 0; clicks < 1_000; clicks += 1) {
      const action = ACTIONS[Math.floor(random.next() * ACTIONS.length)]!;
      world.act(action, Math.floor(random.next() * CANDIDATES));
      await pass(world, Math.floor(random.next() * 20) * STEP_MS);
    }
    expect(world.twoValidMs).toBe(0);
    expect(world.twoFlagsMs, "no click made two flags stand at once, so that the counter proves nothing").toBeGreaterThan(0);
    expect(world.refused, "no click made a late write").toBeGreaterThan(0);
  });

  it("shows two leaders by their flags, and one by its clock, after a freeze", async () => {
    const world = new PlaygroundWorld();
    await pass(world, 4_000);
    const [leader] = world.valid();
    world.act("freeze", leader!);
    await pass(world, 12_000);
    expect(world.flagged()).toHaveLength(2);
    expect(world.valid()).toHaveLength(1);
    expect(world.valid()).not.toContain(leader);
    world.act("thaw", leader!);
    expect(world.refused).toBe(1);
    await pass(world, 2_000);
    expect(world.flagged()).toEqual(world.valid());
  });

  it.each<{ readonly action: Action; readonly leads: boolean }>([
    { action: "kill", leads: false },
    { action: "freeze", leads: false },
    { action: "block", leads: false },
    { action: "cut", leads: false },
    { action: "stop", leads: false },
    { action: "lose", leads: true },
    { action: "clock", leads: true },
  ])("goes on with one leader after '$action' of the leader", async ({ action, leads }) => {
    const world = new PlaygroundWorld();
    await pass(world, 4_000);
    const leader = world.valid()[0]!;
    world.act(action, leader);
    await pass(world, 7_000);
    expect(world.valid()).toHaveLength(1);
    expect(world.valid().includes(leader)).toBe(leads);
  });

  it("passes the lease to the candidate of a transfer", async () => {
    const world = new PlaygroundWorld();
    await pass(world, 4_000);
    const next = (world.valid()[0]! + 2) % CANDIDATES;
    world.act("transfer", next);
    await pass(world, 5_000);
    expect(world.valid()).toEqual([next]);
  });

  it("has no leader while the store is down, and one again afterwards", async () => {
    const world = new PlaygroundWorld();
    await pass(world, 4_000);
    world.act("store", 0);
    await pass(world, 10_000);
    expect(world.valid()).toEqual([]);
    world.act("store", 0);
    await pass(world, 10_000);
    expect(world.valid()).toHaveLength(1);
  });

  it("refuses durations that do not fit together", () => {
    expect(() => new PlaygroundWorld({ ...DEFAULT_SETTINGS, renewIntervalMs: 9_000 })).toThrow(/renewIntervalMs/u);
  });

  it("has the same history for the same link", async () => {
    const situation: Situation = {
      settings: DEFAULT_SETTINGS,
      clicks: [
        { atMs: 4_000, action: "freeze", index: 0 },
        { atMs: 4_000, action: "kill", index: 1 },
        { atMs: 15_000, action: "thaw", index: 0 },
      ],
    };
    const histories = await Promise.all(
      [situation, readLink(linkOf(situation))].map(async ({ settings, clicks }) => {
        const world = new PlaygroundWorld(settings);
        for (const { atMs, action, index } of clicks) {
          await pass(world, atMs - world.nowMs);
          world.act(action, index);
        }
        await pass(world, 5_000);
        return world.log;
      }),
    );
    expect(histories[1]).toEqual(histories[0]);
  });

  it.each([
    "",
    "#l=abc",
    "#l=5000&c=4000:explode:1",
    "#l=5000&r=1500&p=1000&c=4000:kill:9",
    "#c=4:kill:1",
    "#c=9999999999:kill:1",
  ])("shows the usual situation for the unusable link '%s'", (link) =>
    expect(readLink(link)).toEqual({ settings: DEFAULT_SETTINGS, clicks: [] }),
  );
});
