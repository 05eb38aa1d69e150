/** The processes of a term when they cannot all be read. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { withReserve } from "../../src/run/descriptor-reserve.ts";
import { endGroup, isGone, signalGroup } from "../../src/run/group.ts";
import { parseStat, startTicksOf } from "../../src/run/process-table.ts";

const WITHOUT_FILES = fileURLToPath(new URL("./without-files.ts", import.meta.url));
const termId = "a-term-of-nobody";

let command: ChildProcess;
let ended: Promise<unknown[]>;
beforeEach(() => {
  command = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
  ended = once(command, "exit");
  onTestFinished(() => void command.kill("SIGKILL"));
});

/** Shows mocks of `node:fs` to modules that import its functions by name, until the test ends. */
function showMocks(): void {
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
}

test.runIf(process.platform === "linux").each([
  ["without file descriptors, `isGone` is false, and the command's group is still ended", []],
  ["with reserved file descriptors, `isGone` is right, even if no others are free", ["reserve"]],
])("%s", async (_what, reserve) => {
  const types = process.features.typescript === false ? ["--experimental-strip-types"] : [];
  const line = [
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    ...types,
    WITHOUT_FILES,
    String(command.pid),
    ...reserve,
  ];
  const looking = spawn("/bin/sh", ["-c", 'ulimit -n 64; exec "$@"', "sh", ...line], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(await once(looking, "exit")).toEqual([0, null]);
  expect(await ended).toEqual([null, "SIGTERM"]);
});

test("a file that is gone is not opened again, and the reserve of file descriptors stays", () => {
  const close = vi.spyOn(fs, "closeSync");
  showMocks();
  const open = vi.fn<() => never>(() => {
    throw Object.assign(new Error("gone"), { code: "ENOENT" });
  });
  expect(() => withReserve(open)).toThrow("gone");
  expect([open.mock.calls.length, close.mock.calls.length]).toEqual([1, 0]);
});

test("without a table of processes, only the command's group is signalled", async () => {
  vi.spyOn(fs, "readdirSync").mockReturnValue([]);
  showMocks();
  const mark = { termId, leader: { pid: command.pid! } };
  expect(isGone({ termId })).toBe(true);
  signalGroup({ termId }, "SIGKILL");
  expect(isGone(mark)).toBe(false);
  endGroup(mark, "SIGTERM");
  expect(await ended).toEqual([null, "SIGTERM"]);
  expect(isGone(mark)).toBe(true);
});

test.runIf(process.platform === "linux")("a later group with the command's number gets no signal", async () => {
  signalGroup({ termId, leader: { pid: command.pid!, startTicks: 1 } }, "SIGKILL");
  command.kill("SIGTERM");
  expect(await ended).toEqual([null, "SIGTERM"]);
});

test.runIf(process.platform === "linux")("the command's group is killed before the search for other processes", async () => {
  const pid = command.pid!;
  const kill = vi.spyOn(process, "kill");
  const look = vi.spyOn(fs, "readdirSync");
  showMocks();
  signalGroup({ termId, leader: { pid, startTicks: startTicksOf(pid) } }, "SIGKILL");
  expect(kill.mock.calls[0]).toEqual([-pid, "SIGKILL"]);
  expect(kill.mock.invocationCallOrder[0]).toBeLessThan(look.mock.invocationCallOrder[0]!);
  expect(await ended).toEqual([null, "SIGKILL"]);
});

test.runIf(process.platform === "linux")("a process that starts in response to the request is not asked", async () => {
  const mark = { termId, leader: { pid: command.pid!, startTicks: startTicksOf(command.pid!) } };
  const kill = vi.spyOn(process, "kill");
  const look = vi.spyOn(fs, "readdirSync");
  showMocks();
  endGroup(mark, "SIGTERM");
  expect(kill.mock.calls).toEqual([
    [-command.pid!, "SIGTERM"],
    [-command.pid!, "SIGCONT"],
  ]);
  expect(Math.max(...look.mock.invocationCallOrder)).toBeLessThan(kill.mock.invocationCallOrder[0]!);
  expect(await ended).toEqual([null, "SIGTERM"]);
});

test.runIf(process.platform === "linux")("a command that the table hides is not gone, and gets the signal", async () => {
  // The table showed the command when it started. Since then it has another program's capabilities.
  const mark = { termId, leader: { pid: command.pid!, startTicks: startTicksOf(command.pid!) } };
  vi.spyOn(fs, "readdirSync").mockReturnValue(["1"] as never);
  showMocks();
  expect(isGone(mark)).toBe(false);
  endGroup(mark, "SIGTERM");
  expect(await ended).toEqual([null, "SIGTERM"]);
  expect(isGone(mark)).toBe(true);
});

test.runIf(process.platform === "linux")("a command is gone if only a zombie is left", async () => {
  const mark = { termId, leader: { pid: command.pid!, startTicks: startTicksOf(command.pid!) } };
  signalGroup(mark, "SIGKILL");
  // Node reaps the child only after this task.
  const state = (): string => parseStat(fs.readFileSync(`/proc/${command.pid}/stat`, "latin1")).state;
  for (const untilMs = Date.now() + 60_000; state() !== "Z" && Date.now() < untilMs;);
  expect([state(), isGone(mark)]).toEqual(["Z", true]);
  expect(await ended).toEqual([null, "SIGKILL"]);
});
