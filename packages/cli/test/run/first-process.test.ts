import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { giveInitAway, type FirstProcess } from "../../src/run/first-process.ts";

const CONTAINER = {
  pid: 1,
  execPath: "/node",
  execArgv: ["--flag"],
  argv: ["/node", "/main.js", "run", "--", "a b"],
  env: { A: "1" },
};

function given(process: Partial<FirstProcess>): unknown[][] {
  const execve = vi.fn<NonNullable<FirstProcess["execve"]>>();
  giveInitAway({ ...CONTAINER, execve, ...process });
  return execve.mock.calls;
}

test("a shell takes the first place of a container, and runs the same program", () => {
  const args = ["sh", "-c", expect.any(String), "sh", "/node", "--flag", "/main.js", "run", "--", "a b"];
  expect(given({})).toEqual([["/bin/sh", args, { A: "1" }]]);
});

test.each([
  ["another process is the first", { pid: 2 }],
  ["nothing is run", { argv: ["/node", "/main.js", "status"] }],
  ["Node cannot give its place away", { execve: undefined }],
])("this process keeps its place if %s", (_what, process) => {
  expect(given(process)).toEqual([]);
});

test("this process keeps its place if there is no shell", () => {
  // Node aborts if execve fails, so it must not be called.
  const execve = vi.fn<NonNullable<FirstProcess["execve"]>>();
  giveInitAway({ ...CONTAINER, execve }, "/nowhere/sh");
  giveInitAway({ ...CONTAINER, execve }, fileURLToPath(import.meta.url));
  expect(execve).not.toHaveBeenCalled();
});
