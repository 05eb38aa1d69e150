import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ignoresHangup } from "../../src/run/hangup.ts";

const PARENT = 7;

interface Process {
  readonly stdin?: string;
  readonly flags?: string;
  readonly parent?: string;
  readonly ignored?: string;
}

/** Creates a table of processes with this process and its parent. */
function procOf({ stdin = "/dev/pts/0", flags = "0100002", parent = "bash", ignored = "0000000000000000" }: Process): string {
  const proc = mkdtempSync(join(tmpdir(), "leasehold-hangup-"));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  for (const folder of ["self/fd", "self/fdinfo", String(PARENT)]) mkdirSync(join(proc, folder), { recursive: true });
  symlinkSync(stdin, join(proc, "self/fd/0"));
  writeFileSync(join(proc, "self/fdinfo/0"), `pos:\t0\nflags:\t${flags}\nmnt_id:\t9\n`);
  writeFileSync(join(proc, `${PARENT}/status`), `Name:\t${parent}\nState:\tS (sleeping)\nSigIgn:\t${ignored}\n`);
  return proc;
}

test.each([
  ["nohup started it from a shell that sets `_`", true, {}, "/usr/bin/nohup"],
  ["nohup gave it its standard input", true, { stdin: "/dev/null", flags: "0100001" }, undefined],
  ["its shell ignores HUP", true, { ignored: "0000000000001001" }, undefined],
  ["another program that ignores HUP started it", false, { parent: "screen", ignored: "0000000000000001" }, undefined],
  ["its shell ignores other signals", false, { ignored: "0000000000001000" }, undefined],
  ["it has no input", false, { stdin: "/dev/null", flags: "0100000" }, undefined],
  ["there is no sign of it", false, {}, "/usr/bin/env"],
] as const)("if %s, ignoring HUP is %s", (_what, ignores, process, last) => {
  expect(ignoresHangup({ env: { _: last }, parent: PARENT, proc: procOf(process) })).toBe(ignores);
});

test("uses only the environment without a table of processes", () => {
  expect(ignoresHangup({ env: { _: "/usr/bin/nohup" }, parent: PARENT, proc: "/no/such" })).toBe(true);
  expect(ignoresHangup({ env: {}, parent: PARENT, proc: "/no/such" })).toBe(false);
});
