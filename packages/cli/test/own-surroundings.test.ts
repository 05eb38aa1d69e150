import { beforeEach, expect, test, vi } from "vitest";
import type { Surroundings } from "../src/surroundings.ts";

let own: Surroundings;
beforeEach(async () => {
  vi.resetModules();
  const { ownSurroundings } = await import("../src/own-surroundings.ts");
  own = ownSurroundings();
});

test.each(["SIGINT", "SIGTERM"] as const)("%s stops all who wait until they are stopped, for good", (signal) => {
  const before = process.listenerCount(signal);
  const [first, second] = [own.untilStopped(), own.untilStopped()];
  expect([first.aborted, second.aborted, process.listenerCount(signal) - before]).toEqual([false, false, 1]);
  process.emit(signal, signal);
  expect([first.aborted, second.aborted, own.untilStopped().aborted]).toEqual([true, true, true]);
});
