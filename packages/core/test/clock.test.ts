import { getEventListeners } from "node:events";
import { systemClock, holderElapsedMs, instantOf, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test, vi } from "vitest";

describe("holderElapsedMs: the holder counts from before the send", () => {
  test("is the elapsed time of both clocks if they agree", () => {
    const clock = new VirtualClock();
    const since = instantOf(clock);

    clock.freeze(4_000);

    expect(holderElapsedMs(clock, since)).toBe(4_000);
  });

  test("counts a suspension, in which the monotonic clock stood still", () => {
    const clock = new VirtualClock();
    const since = instantOf(clock);

    clock.suspend(60_000);

    expect(holderElapsedMs(clock, since)).toBe(60_000);
  });

  test("ignores a wall clock that was set back", () => {
    const clock = new VirtualClock();
    const since = instantOf(clock);

    clock.freeze(4_000);
    clock.jumpWall(-3_600_000);

    expect(holderElapsedMs(clock, since)).toBe(4_000);
  });
});

describe("sleep", () => {
  test("resolves when the time has passed, and not before", async () => {
    const clock = new VirtualClock();
    const done = vi.fn<() => void>();
    void sleep(clock, 100).then(done);

    await clock.advance(99);
    expect(done).not.toHaveBeenCalled();

    await clock.advance(1);
    expect(done).toHaveBeenCalledOnce();
  });

  test("rejects with the signal's own reason at once, and leaves neither timer nor listener", async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const reason = new Error("enough");
    const sleeping = sleep(clock, 100, controller.signal);

    controller.abort(reason);

    await expect(sleeping).rejects.toBe(reason);
    expect(clock.pendingTimers).toBe(0);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  test("rejects at once if the signal had already aborted", async () => {
    const clock = new VirtualClock();

    await expect(sleep(clock, 100, AbortSignal.abort("no"))).rejects.toBe("no");
    expect(clock.pendingTimers).toBe(0);
  });

  test("removes its listener once it has resolved", async () => {
    const clock = new VirtualClock();
    const { signal } = new AbortController();

    await clock.runUntil(sleep(clock, 100, signal));

    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("systemClock", () => {
  test("never asks Node for a delay that would fire at once", () => {
    const timers = vi.spyOn(globalThis, "setTimeout");

    systemClock.setTimer(() => undefined, 1e12).cancel();
    systemClock.setTimer(() => undefined, -5).cancel();

    expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toEqual([2_147_483_647, 0]);
    timers.mockRestore();
  });

  test("gives numbers from 0 to 1, and version 4 UUIDs that differ", () => {
    expect(systemClock.random()).toBeGreaterThanOrEqual(0);
    expect(systemClock.random()).toBeLessThan(1);
    expect(systemClock.randomUuid()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(systemClock.randomUuid()).not.toBe(systemClock.randomUuid());
  });
});
