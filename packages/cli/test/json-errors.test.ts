import { LeaseholdError } from "@leasehold/core";
import { expect, test, vi } from "vitest";
import { VERBS } from "../src/verbs.ts";
import { CapturedCommand } from "./captured-command.ts";

test.for([
  ["STORE_DENIED", 69],
  ["STORE_UNAVAILABLE", 69],
] as const)("--json prints a %s of the store with its code", async ([code, exitCode]) => {
  const command = new CapturedCommand();
  command.failsWith(code);
  const { stdout, stderr } = await command.run("status", "billing", "--json");
  const help = new LeaseholdError(code, "").help;
  expect(JSON.parse(stdout)).toEqual({ error: { code, message: `${code} of old.`, help, exitCode } });
  expect(stderr).toBe(`leasehold: ${code} of old. See ${help}\n`);
});

test.for([
  ["status billing --json --wait 5", "USAGE", 64],
  ["break biling --json --yes --reason x", "NOBODY_LEADS", 3],
  ["resume billing --json", "NO_EFFECT", 75],
  ["timing --json --lease 1ms", "CONFIGURATION", 78],
] as const)("--json prints an error of the command with its code: %s", async ([args, code, exitCode]) => {
  const { stdout } = await new CapturedCommand().run(...args.split(" "));
  expect(JSON.parse(stdout)).toMatchObject({ error: { code, exitCode } });
});

test("without --json an error leaves stdout empty", async () => {
  expect(await new CapturedCommand().run("status", "a\u0000b")).toMatchObject({ exitCode: 78, stdout: "" });
});

test("a control character of a stranger's text does not reach the terminal", async () => {
  const command = new CapturedCommand();
  command.refusal = new Error("the file has \u001b[2J in it");
  const { stderr } = await command.run("status", "billing");
  expect(stderr).toBe("leasehold: the file has \\u{1b}[2J in it\n");
});

test("a verb that cannot be loaded is an error of one line, in the format of --log json if that is asked for", async () => {
  vi.spyOn(VERBS["timing"]!, "load").mockRejectedValueOnce(new Error("a file is missing"));
  expect(await new CapturedCommand().run("timing")).toEqual({
    exitCode: 70,
    stdout: "",
    stderr: "leasehold: a file is missing\n",
  });
  vi.spyOn(VERBS["serve"]!, "load").mockRejectedValueOnce(new Error("a file is missing"));
  const { stderr } = await new CapturedCommand().run("serve", "--log=json");
  expect(JSON.parse(stderr)).toMatchObject({ level: "error", message: "a file is missing", code: "UNEXPECTED" });
});
