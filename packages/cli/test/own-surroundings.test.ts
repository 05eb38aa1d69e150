import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Surroundings } from "../src/surroundings.ts";

let own: Surroundings;
let ownSurroundings: () => Surroundings;
beforeEach(async () => {
  const before = process.stderr.listeners("error");
  onTestFinished(() => {
    for (const listener of process.stderr.listeners("error"))
      if (!before.includes(listener)) process.stderr.off("error", listener as () => void);
  });
  vi.resetModules();
  ({ ownSurroundings } = await import("../src/own-surroundings.ts"));
  own = ownSurroundings();
});

test.each(["SIGINT", "SIGTERM"] as const)("%s stops all who wait until they are stopped, for good", (signal) => {
  const before = process.listenerCount(signal);
  const [first, second] = [own.untilStopped(), own.untilStopped()];
  expect([first.aborted, second.aborted, process.listenerCount(signal) - before]).toEqual([false, false, 1]);
  process.emit(signal, signal);
  expect([first.aborted, second.aborted, own.untilStopped().aborted]).toEqual([true, true, true]);
});

test("who reads what is said to people may leave: that is no failure of the command's", () => {
  const before = process.stderr.listenerCount("error");
  ownSurroundings();
  expect(process.stderr.listenerCount("error") - before).toBe(1);
});

test.each([
  [true, true],
  [true, false],
  [false, true],
  [false, false],
])("somebody can be asked where both ends are a terminal (%s, %s)", (hears, reads) => {
  for (const [stream, isTTY] of [
    [process.stdin, hears],
    [process.stderr, reads],
  ] as const) {
    const before = Object.getOwnPropertyDescriptor(stream, "isTTY");
    Object.defineProperty(stream, "isTTY", { value: isTTY, configurable: true });
    onTestFinished(() => {
      if (before) Object.defineProperty(stream, "isTTY", before);
      else Reflect.deleteProperty(stream, "isTTY");
    });
  }
  expect(ownSurroundings().ask !== undefined).toBe(hears && reads);
  expect(ownSurroundings().stderr.isTerminal).toBe(reads);
});
