/** The command as a process of its own, under conditions that end it before any verb runs. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandEnvironment, commandLine, runCommand } from "@leasehold/test-kit/processes/leasehold-command";
import { expect, test } from "vitest";

/** Makes a process say that it runs on Node 20. */
const OLD_NODE = `data:text/javascript,Object.defineProperty(process, "versions", { value: { node: "20.20.2" } });`;

test("a version of Node that is too old gets one sentence and exit code 78", () => {
  const [file, ...args] = commandLine(["--version"], ["--import", OLD_NODE]);
  const { status, stdout, stderr } = spawnSync(file, args, { env: commandEnvironment(), encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({
    status: 78,
    stdout: "",
    stderr: "leasehold: Leasehold needs Node 22.13 or later, and this is Node 20.20.2.\n",
  });
});

test("--version prints the version", async () => {
  expect(await runCommand(["--version"])).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: "",
  });
});

test("a wrapper optimises hardly any code, because that code would take memory for as long as it runs", () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-memory-"));
  const store = `sqlite://${folder}/a.db`;
  const [file, ...args] = commandLine(["run", "--store", store, "--election", "e", "--", "true"], ["--trace-opt"]);
  const { status, stdout } = spawnSync(file, args, { env: commandEnvironment(), encoding: "utf8" });
  rmSync(folder, { recursive: true });
  expect(status).toBe(0);
  // Node.js itself has optimised a few functions before the command starts, and a hundred more in its course otherwise.
  expect(stdout.match(/^\[compiling method /gm)?.length ?? 0).toBeLessThan(30);
});

test("works in a folder that was deleted", () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-gone-"));
  const command = commandLine(["list", "--store", `sqlite://${folder}/a.db`]);
  const script = `cd "$0" && rmdir "$0" && exec "$@"`;
  const { status, stderr } = spawnSync("sh", ["-c", script, folder, ...command], { env: commandEnvironment(), encoding: "utf8" });
  expect(() => rmdirSync(folder)).toThrow("ENOENT");
  expect({ status, stderr }).toEqual({
    status: 78,
    stderr: expect.stringContaining(`there is no SQLite file ${folder}/a.db; is that its path?`) as string,
  });
});
