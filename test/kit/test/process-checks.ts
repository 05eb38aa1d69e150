import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { OwnedBackend } from "./backend-owner.ts";
import type { Then } from "../backends/own-backend.ts";
import { processState, reachesState } from "../processes/process-state.ts";
import { childrenOf } from "../processes/process-tree.ts";

/** Declares the tests that the processes of `backend` never outlive their owner, nor does their data. */
export function describeProcesses(backend: OwnedBackend): void {
  describe("its processes", () => {
    test("leave nothing behind that keeps their parent alive, or data", async () => {
      const owner = await startOwner(backend, "stop");
      const [code] = (await once(owner.process, "exit")) as [number | null];
      expect(code).toBe(0);
      await expect(processState((await owner.backend).pid)).resolves.toBe("gone");
      await expect(readdir(owner.temporary)).resolves.toEqual([]);
    });

    test.each(["serve", "pause"] as const)("die with a parent that is killed (%s)", async (then) => {
      const owner = await startOwner(backend, then);
      const { pid } = await owner.backend;
      const pids = [pid, ...(await childrenOf([pid]))];
      for (const each of pids) await expect(processState(each)).resolves.toBe(then === "pause" ? "stopped" : "running");

      owner.process.kill("SIGKILL");

      await Promise.all(pids.map(async (each) => reachesState(each, "gone")));
      await expect.poll(async () => readdir(owner.temporary)).toEqual([]);
    });
  });
}

/** Runs backend-owner.ts in a process and a directory for temporary files of its own. */
async function startOwner(backend: OwnedBackend, then: Then) {
  const temporary = await mkdtemp(join(tmpdir(), "leasehold-owner-"));
  // For a backend that runs as another user.
  await chmod(temporary, 0o755);
  onTestFinished(async () => rm(temporary, { recursive: true, force: true, maxRetries: 5 }));
  const script = fileURLToPath(new URL("./backend-owner.ts", import.meta.url));
  const owner = spawn(process.execPath, [script, backend, then], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void owner.kill("SIGKILL"));
  const started = once(createInterface(owner.stdout), "line").then(
    ([line]) => JSON.parse(line as string) as { readonly pid: number },
  );
  return { process: owner, backend: started, temporary };
}
