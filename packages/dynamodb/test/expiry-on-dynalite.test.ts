import { Elector } from "@leasehold/core";
import { describe, expect, onTestFinished } from "vitest";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { test } from "./world-test.ts";

const HOUR_MS = 3_600_000;
/**
 * The dead leader's lease has the bounds of the time that its process knew. They are late by this much at most, as `capabilities`
 * says.
 */
const TOLERANCE_MS = 4_000;

/** Returns a clock of one more process. It runs, and its wall time is off by this much. */
function clockOff(byMs: number): MovableClock {
  const clock = new MovableClock();
  clock.run();
  clock.jumpWall(byMs);
  onTestFinished(() => clock.stop());
  return clock;
}

describe.each([
  [0, 0],
  [7 * HOUR_MS, -7 * HOUR_MS],
  [-7 * HOUR_MS, 7 * HOUR_MS],
])("with clocks that are off by %d ms at the holder and by %d ms at the caller", (holderMs, callerMs) => {
  test("a cold caller takes over once the lease is over by every clock, and not before", async ({ world, dynalite }) => {
    const clocks = [clockOff(holderMs)];
    let passedMs = 0;
    const pass = async (ms: number): Promise<void> => {
      passedMs += ms;
      for (const clock of clocks) clock.freeze(ms);
      await dynalite.advance(ms);
    };
    const call = async (): Promise<boolean> => {
      const clock = clockOff(callerMs + passedMs);
      const elector = new Elector({ store: world.store({ clock }), election: ELECTION, clock });
      return (await elector.tryRun(() => undefined)).elected;
    };
    const holder = world.store({ clock: clocks[0]! });
    const lease = await win(holder);
    await pass(LEASE_MS / 3);
    await holder.renew(lease, LIMITS);
    // No reply takes a second here.
    await pass(LEASE_MS - 1_000);
    await expect(call()).resolves.toBe(false);
    await pass(TOLERANCE_MS + 1_000);

    const observer = clockOff(callerMs + passedMs);
    const observing = world.store({ clock: observer });
    await observing.read(ELECTION);
    await expect(observing.acquire(acquiring({ candidateId: "observer" }))).resolves.toMatchObject({
      acquired: false,
      current: { state: "unknown" },
    });
    // A caller whose clock is behind the holder's waits longer by that difference.
    await expect(call()).resolves.toBe(holderMs <= callerMs);
    await pass(Math.max(holderMs - callerMs, 0));
    await expect(call()).resolves.toBe(true);
  });

  test("a candidate that only observes waits for the whole lease, by its own clock", async ({ world }) => {
    const holder = world.store({ clock: clockOff(holderMs) });
    await win(holder);
    const clock = clockOff(callerMs);
    const caller = world.store({ clock });
    await caller.read(ELECTION);
    clock.jumpWall(-2 * callerMs);
    clock.freeze(LEASE_MS - 1_000);
    await expect(caller.acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    clock.freeze(1_001);
    await expect(win(caller, { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });
});
