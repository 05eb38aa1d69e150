import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readCommandLine } from "./command-line.ts";

test("without arguments, all stores for a minute each, with any seed", () => {
  expect(readCommandLine([])).toEqual({ store: undefined, minutes: 1, seed: undefined, help: false });
});

test("everything can be said", () => {
  const args = ["--store", "mysql", "--minutes", "0.5", "--seed", "4294967295"];
  expect(readCommandLine(args)).toEqual({ store: "mysql", minutes: 0.5, seed: 2 ** 32 - 1, help: false });
});

test.each([
  [["--store", "mongodb"], "'--store' is 'mongodb'; it must be one of sqlite,"],
  [["--minutes", "0"], "'--minutes' is '0'"],
  [["--minutes", "-1"], "--minutes"],
  [["--minutes", "many"], "'--minutes' is 'many'"],
  [["--minutes", " "], "'--minutes' is ' '"],
  [["--minutes", "Infinity"], "'--minutes' is 'Infinity'"],
  [["--seed", "1.5"], "'--seed' is '1.5'"],
  [["--seed", ""], "'--seed' is ''"],
  [["--seed", "4294967296"], "'--seed' is '4294967296'"],
  [["--sed", "1"], "--sed"],
  [["mysql"], "mysql"],
])("%j is refused", (args, message) => {
  expect(() => readCommandLine(args)).toThrow(message);
});

test("a wrong argument is said before anything starts", async () => {
  const program = fileURLToPath(new URL("./main.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@leasehold/source", program, "--store", "mongodb"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], stdout, stderr] = await Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("mongodb");
  expect(stderr).toContain("Usage: npm run chaos");
});
