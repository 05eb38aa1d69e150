import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { StopRequest } from "../../src/run/stop-signals.ts";
import { waitUnlessStopped } from "../../src/run/stop-limit.ts";

const FOR_EVER = new Promise<never>(() => {});

/** Returns how long the wait lasts after a stop, for a store without an answer and a command that runs for a given time. */
async function waitedMs(runsForMs: number): Promise<number> {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const idle = Promise.withResolvers<void>();
  let isOver = false;
  const limit = { stopped: stop.signal, clock, idle: async () => await idle.promise };
  const waiting = waitUnlessStopped(FOR_EVER, limit).then((result) => {
    expect(result).toBe(undefined);
    isOver = true;
  });
  await clock.advance(60_000);
  expect(isOver).toBe(false);
  const stoppedMs = clock.monotonicMs();
  stop.abort(Object.assign(new StopRequest("SIGTERM"), { atMs: stoppedMs }));
  await clock.advance(runsForMs);
  idle.resolve();
  while (!isOver) await clock.advance(100);
  await waiting;
  return clock.monotonicMs() - stoppedMs;
}

test("the wait for a store has no limit until a stop, and then a limit once no command runs", async () => {
  expect(await waitedMs(0)).toBe(4_000);
  expect(await waitedMs(6_000)).toBe(8_500);
  expect(await waitedMs(20_000)).toBe(20_500);
});

test("the store's result or failure passes through, if it comes in time", async () => {
  const clock = new VirtualClock();
  const limit = { stopped: AbortSignal.abort(new Error("a stop")), clock };
  expect(await waitUnlessStopped(Promise.resolve(7), limit)).toBe(7);
  await expect(waitUnlessStopped(Promise.reject(new RangeError("broken")), limit)).rejects.toThrow("broken");
  expect(clock.monotonicMs()).toBe(new VirtualClock().monotonicMs());
});
