import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
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

test.each([
  ["yes\n", true],
  [" YES \n", true],
  ["y\n", false],
  ["\n", false],
  // Ctrl-D, and Ctrl-C.
  ["\u0004", false],
  ["\u0003", false],
])("whoever is asked, and types %j, has answered %s, on a line of its own", async (typed, expected) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const written: string[] = [];
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  stderr.on("data", (text: Buffer) => void written.push(text.toString()));
  for (const [name, value] of [
    ["stdin", terminal],
    ["stderr", stderr],
  ] as const) {
    const before = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor;
    Object.defineProperty(process, name, { value, configurable: true });
    onTestFinished(() => void Object.defineProperty(process, name, before));
  }
  const answer = ownSurroundings().ask?.("Sure? ");
  terminal.write(typed);

  await expect(answer).resolves.toBe(expected);
  expect(stripVTControlCharacters(written.join(""))).toMatch(/^Sure\? .*\r?\n$/);
});
