/** The command as a process of its own. Its results cannot be written, or nobody reads them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { commandEnvironment, commandLine } from "@leasehold/test-kit/processes/leasehold-command";
import { expect, test } from "vitest";

/** Runs a shell's script, in which the command is `"$@"`. Returns its exit code and its standard error. */
async function ran(script: string): Promise<readonly [code: number, stderr: string]> {
  const shell = spawn("bash", ["-c", script, "bash", ...commandLine(["timing", "--json"])], {
    env: commandEnvironment(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  shell.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = (await once(shell, "close")) as [number];
  return [code, stderr];
}

test.runIf(existsSync("/dev/full"))("results that cannot be written are an error", async () => {
  expect(await ran('"$@" > /dev/full')).toEqual([74, "leasehold: the output cannot be written (ENOSPC).\n"]);
});

test("a reader that has left is no error", async () => {
  expect(await ran('"$@" | true; exit "${PIPESTATUS[0]}"')).toEqual([0, ""]);
});
