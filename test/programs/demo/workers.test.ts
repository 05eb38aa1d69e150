import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { processState, reachesState } from "@leasehold/test-kit/processes/process-state";

const OWNER = fileURLToPath(new URL("./workers-owner.ts", import.meta.url));

test("workers do not outlive a demo that is killed, even if a worker is frozen", async () => {
  const { owner, pids } = await ownWorkers("wait");
  expect(await Promise.all(pids.map(processState))).toEqual(["stopped", "running"]);
  owner.kill("SIGKILL");
  await Promise.all(pids.map((pid) => reachesState(pid, "gone")));
});

test("disposing of the workers ends all of them, also a frozen one", async () => {
  const { ended, pids } = await ownWorkers("dispose");
  expect(await ended).toEqual([0, null]);
  expect(await Promise.all(pids.map(processState))).toEqual(["gone", "gone"]);
});

/** Starts the program, and waits until it has two workers, one of them frozen. */
async function ownWorkers(then: string): Promise<{ owner: ChildProcess; ended: Promise<unknown[]>; pids: number[] }> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const owner = spawn(process.execPath, ["--conditions=@leasehold/source", OWNER, then], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void owner.kill("SIGKILL"));
  const ended = once(owner, "exit");
  const [line] = (await once(owner.stdout, "data")) as [Buffer];
  return { owner, ended, pids: JSON.parse(line.toString()) as number[] };
}
