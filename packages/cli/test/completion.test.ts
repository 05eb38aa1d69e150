import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { FISH, programMissing, ZSH, type Program } from "@leasehold/test-kit/backends/programs";
import { describe, expect, onTestFinished, test } from "vitest";
import { VERBS } from "../src/verbs.ts";
import { CapturedCommand } from "./captured-command.ts";

const missing = new Set<Program>();
for (const program of [ZSH, FISH]) if (await isMissing(programMissing(program))) missing.add(program);

async function scriptFor(shell: string): Promise<string> {
  return (await new CapturedCommand().run("completion", shell)).stdout;
}

/** Returns what bash offers for the last of these words. */
async function offers(...words: readonly string[]): Promise<readonly string[]> {
  const line = words.map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(leasehold ${line}); COMP_CWORD=${words.length}; _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", `${await scriptFor("bash")}\n${ask}`], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
}

test("bash offers the verbs, the options of a verb, and the values of an option", async () => {
  expect(await offers("")).toEqual(Object.keys(VERBS));
  expect(await offers("pau")).toEqual(["pause"]);
  expect(await offers("pause", "--re")).toEqual(["--reason"]);
  expect(await offers("run", "--restart", "o")).toEqual(["on-loss"]);
  expect(await offers("run", "--", "/etc/host")).toContain("/etc/hosts");
});

describe.each([ZSH, FISH])("the script of $name", (program) => {
  const shell = program.name;
  test.skipIf(missing.has(program))("can be parsed by it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "completion-"));
    onTestFinished(async () => await rm(folder, { recursive: true }));
    const file = join(folder, "script");
    await writeFile(file, await scriptFor(shell));
    const { stderr, status } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  });

  test("names each verb and its options", async () => {
    const script = await scriptFor(shell);
    for (const name of Object.keys(VERBS)) expect(script).toContain(name);
    for (const option of ["reason", "min-term", "store-file", "restart"]) expect(script).toContain(option);
  });
});

test("an unknown shell is refused", async () => {
  expect(await new CapturedCommand().run("completion", "tcsh")).toMatchObject({
    exitCode: 64,
    stderr: expect.stringContaining("Allowed choices are bash, zsh, fish.") as string,
  });
});
