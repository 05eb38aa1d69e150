import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Output, ProcessEnvironment } from "../src/verb.ts";

const output = (isTerminal: boolean): Output => ({ isTerminal, write: () => {} });

const hangup = vi.hoisted(() => ({ ignoresHangup: (): boolean => false }));
vi.mock("../src/run/hangup.ts", () => hangup);
const shell = vi.hoisted(() => ({ shellStatus: (): string | undefined => "10" }));
vi.mock("../src/run/shell-process.ts", () => shell);

let own: ProcessEnvironment;
let ownSurroundings: (stderr: Output) => ProcessEnvironment;
beforeEach(async () => {
  vi.resetModules();
  ({ ownSurroundings } = await import("../src/own-environment.ts"));
  own = ownSurroundings(output(false));
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s aborts the signal of every wait, for good", (signal) => {
  const before = process.listenerCount(signal);
  const [first, second] = [own.untilStopped(), own.untilStopped()];
  expect([first.aborted, second.aborted, process.listenerCount(signal) - before]).toEqual([false, false, 1]);
  process.emit(signal, signal);
  expect([first.aborted, second.aborted, own.untilStopped().aborted]).toEqual([true, true, true]);
});

test("SIGHUP changes nothing under nohup, and does not end the process either", () => {
  vi.spyOn(hangup, "ignoresHangup").mockReturnValueOnce(true);
  const before = process.listenerCount("SIGHUP");
  const stopped = own.untilStopped();
  process.emit("SIGHUP", "SIGHUP");
  expect([stopped.aborted, process.listenerCount("SIGHUP") - before]).toEqual([false, 1]);
});

test.each([
  [true, true],
  [true, false],
  [false, true],
  [false, false],
])("a question is possible only if both ends are a terminal (%s, %s)", (hears, reads) => {
  const before = Object.getOwnPropertyDescriptor(process.stdin, "isTTY");
  Object.defineProperty(process.stdin, "isTTY", { value: hears, configurable: true });
  onTestFinished(() => {
    if (before) Object.defineProperty(process.stdin, "isTTY", before);
    else Reflect.deleteProperty(process.stdin, "isTTY");
  });
  expect(ownSurroundings(output(reads)).ask !== undefined).toBe(hears && reads);
});

test.each([
  ["yes\n", true],
  [" YES \n", true],
  ["y\n", false],
  ["\n", false],
  // Ctrl-D and Ctrl-C close the input.
  ["\u0004", false],
  ["\u0003", false],
])("the typed answer %j counts as %s, and the next output begins on a new line", async (typed, expected) => {
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
  const answer = ownSurroundings(output(true)).ask?.("Sure? ");
  terminal.write(typed);

  await expect(answer).resolves.toBe(expected);
  expect(stripVTControlCharacters(written.join(""))).toMatch(/^Sure\? .*\r?\n$/);
});

test("the end of an npx that started this process through a shell stops this process", { timeout: 60_000 }, async () => {
  vi.stubEnv("npm_command", "exec");
  vi.stubEnv("npm_lifecycle_event", "npx");
  vi.stubEnv("npm_lifecycle_script", "leasehold run");
  vi.stubEnv("LEASEHOLD_TERM_ID", undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const kill = vi.spyOn(process, "kill").mockReturnValue(true);
  const parent = vi.spyOn(shell, "shellStatus");
  const told = await new Promise<string>((resolve) => {
    own.watchNpx(resolve);
    // The system gives the shell to another parent.
    parent.mockReturnValue("1");
  });
  expect(told).toMatch(/^npx has ended/);
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, "SIGTERM");
  kill.mockRestore();
});
