import fs, { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { CommandError } from "../../src/exit-codes.ts";
import { commandPath } from "../../src/run/command-path.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "leasehold-path-"));
  for (const name of ["first", "second"]) mkdirSync(join(folder, name));
  mkdirSync(join(folder, "first/tool"));
  for (const name of ["first/plain", "first/other", "second/tool", "second/plain", "second/other"])
    writeFileSync(join(folder, name), "");
  chmodSync(join(folder, "second/tool"), 0o755);
  chmodSync(join(folder, "second/plain"), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true }));

const searched = (): string => `${folder}/first:${folder}/second`;

function exitCodeFor(name: string): number | undefined {
  try {
    commandPath(name, searched());
    return undefined;
  } catch (error) {
    return (error as CommandError).exitCode;
  }
}

test("finds the first executable file on the path, and skips a folder or a plain file", () => {
  expect(commandPath("tool", searched())).toBe(`${folder}/second/tool`);
  expect(commandPath("plain", searched())).toBe(`${folder}/second/plain`);
});

test("takes a name with a slash as a path, without a search", () => {
  expect(commandPath(`${folder}/second/tool`, "")).toBe(`${folder}/second/tool`);
  expect(exitCodeFor("./tool")).toBe(127);
});

test("skips a folder that it may not enter, as a shell does, and ends with 126 for a path into one", () => {
  const refused = vi.spyOn(fs, "statSync").mockImplementation(() => {
    throw Object.assign(new Error("no"), { code: "EACCES" });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    refused.mockRestore();
    syncBuiltinESMExports();
  });
  expect(exitCodeFor("missing")).toBe(127);
  expect(exitCodeFor("/hidden/tool")).toBe(126);
});

test.for(["echo hi", "FOO=1", "cd"])("'%s' needs a shell, which the error says", (name) => {
  expect(() => commandPath(name, searched())).toThrow(
    `${name} was not found. No shell runs the command; to have one, say: sh -c`,
  );
});

test("ends with 127 for a missing file, and with 126 for one that cannot be executed", () => {
  expect(exitCodeFor("missing")).toBe(127);
  expect(exitCodeFor("")).toBe(127);
  expect(exitCodeFor("other")).toBe(126);
  expect(() => commandPath("other", searched())).toThrow(`${folder}/first/other cannot be executed.`);
  expect(exitCodeFor(`${folder}/first`)).toBe(126);
});
