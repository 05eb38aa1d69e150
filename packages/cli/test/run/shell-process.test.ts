import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { shellStatus } from "../../src/run/shell-process.ts";

test.runIf(process.platform === "linux")("returns a field of a shell, and nothing of another process", async () => {
  const shell = spawn("sh", ["-c", "echo up; read -r line"]);
  onTestFinished(() => void shell.kill("SIGKILL"));
  await once(shell.stdout, "data");
  expect(shellStatus(shell.pid!, "PPid")).toBe(String(process.pid));
  expect(shellStatus(shell.pid!, "NoSuchField")).toBeUndefined();
  expect(shellStatus(process.pid, "PPid")).toBeUndefined();
  expect(shellStatus(shell.pid!, "PPid", "/no/such")).toBeUndefined();
});
