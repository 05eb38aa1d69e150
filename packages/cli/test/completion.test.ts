import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { VERBS } from "../src/verbs.ts";
import { CapturedCommand } from "./captured-command.ts";

async function scriptFor(shell: string): Promise<string> {
  return (await new CapturedCommand().run("completion", shell)).stdout;
}

function hasShell(shell: string): boolean {
  return spawnSync(shell, ["-c", "true"]).status === 0;
}

/** Returns what bash offers for the last of these words. */
async function offers(...words: readonly string[]): Promise<readonly string[]> {
  const line = words.map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(leasehold ${line}); COMP_CWORD=${words.length}; _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", `${await scriptFor("bash")}\n${ask}`], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
}

test.runIf(hasShell("bash"))("bash offers the verbs, the options of a verb, and the values of an option", async () => {
  expect(await offers("")).toEqual(Object.keys(VERBS));
  expect(await offers("pau")).toEqual(["pause"]);
  expect(await offers("pause", "--re")).toEqual(["--reason"]);
  expect(await offers("run", "--restart", "o")).toEqual(["on-loss"]);
  expect(await offers("run", "--", "/etc/host")).toContain("/etc/hosts");
});

test.for(["zsh", "fish"])("%s can parse its script", async (shell, { skip }) => {
  if (!hasShell(shell)) skip(`${shell} is not installed.`);
  const { stderr, status } = spawnSync(shell, ["-n", "/dev/stdin"], { input: await scriptFor(shell), encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
});

test.for(["zsh", "fish"])("the script of %s names each verb and its options", async (shell) => {
  const script = await scriptFor(shell);
  for (const name of Object.keys(VERBS)) expect(script).toContain(name);
  for (const option of ["reason", "min-term", "store-file", "restart"]) expect(script).toContain(option);
});

test("an unknown shell is refused", async () => {
  expect(await new CapturedCommand().run("completion", "tcsh")).toMatchObject({
    exitCode: 64,
    stderr: expect.stringContaining("Allowed choices are bash, zsh, fish.") as string,
  });
});
