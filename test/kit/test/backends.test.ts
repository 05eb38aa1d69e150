import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAzurite } from "../backends/azurite.ts";
import { startDynalite } from "../backends/dynalite.ts";
import { isMissing } from "../backends/missing-backend.ts";
import { motoMissing, startMoto } from "../backends/moto.ts";
import { postgresMissing, startPostgres } from "../backends/postgres.ts";
import { startServiceProcess } from "../backends/service-process.ts";
import { nodeExecutable, OwnedProcess } from "../processes/owned-process.ts";
import { processState, reachesState } from "../processes/process-state.ts";
import { childrenOf } from "../processes/process-tree.ts";
import type { OwnedBackend, Then } from "./backend-owner.ts";

// One backend of each kind: a Node process (as dynalite and our Firestore are), another program with the same protocol, and a
// daemon. The daemon runs in several processes, and as another user.
describe.each([
  { name: "azurite" as const, start: startAzurite, missing: Promise.resolve(undefined) },
  { name: "moto" as const, start: startMoto, missing: motoMissing() },
  { name: "postgres" as const, start: startPostgres, missing: postgresMissing() },
])("the processes of $name", async ({ name, start, missing }) => {
  const isThere = !(await isMissing(missing));

  test.runIf(isThere)("stop at once, continue, and are gone when stop resolves, even if they were paused", async () => {
    await using backend = await start();
    const pids = [backend.pid, ...(await childrenOf([backend.pid]))];
    await backend.pause();
    for (const pid of pids) await expect(processState(pid)).resolves.toBe("stopped");
    backend.resume();
    for (const pid of pids) await reachesState(pid, "running");
    await backend.pause();

    await backend.stop();

    for (const pid of pids) await expect(processState(pid)).resolves.toBe("gone");
    await backend.stop();
    await expect(backend.pause()).rejects.toThrow("has ended");
    backend.resume();
  });

  test.runIf(isThere)("leave neither data behind nor anything that keeps their parent alive", async () => {
    const owner = await startOwner(name, "stop");
    const [code] = (await once(owner.process, "exit")) as [number | null];
    expect(code).toBe(0);
    await expect(processState((await owner.backend).pid)).resolves.toBe("gone");
    await expect(readdir(owner.temporary)).resolves.toEqual([]);
  });

  test.runIf(isThere).each(["serve", "pause"] as const)("die with a parent that is killed (%s)", async (then) => {
    const owner = await startOwner(name, then);
    const { pid } = await owner.backend;
    const pids = [pid, ...(await childrenOf([pid]))];
    for (const each of pids) await expect(processState(each)).resolves.toBe(then === "pause" ? "stopped" : "running");

    owner.process.kill("SIGKILL");

    await Promise.all(pids.map(async (each) => reachesState(each, "gone")));
    await expect.poll(async () => readdir(owner.temporary)).toEqual([]);
  });
});

test("a move of the clock rejects when its service ends", async () => {
  await using azurite = await startAzurite();
  await azurite.pause();
  const [advanced] = await Promise.allSettled([azurite.advance(1), azurite.stop()]);
  expect(advanced).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("has ended") } });
  await expect(azurite.advance(1)).rejects.toThrow(`Azurite (pid ${azurite.pid}) has ended, killed by SIGKILL.`);
});

test("a program that does not start causes an error with its last output", async () => {
  const args = ["-e", 'console.error("no port"); process.exit(3)'];
  const started = startServiceProcess({ name: "It", command: nodeExecutable(), args });
  await expect(started).rejects.toThrow(/^It did not start, exit code 3\.\nno port/u);
});

test("a program that takes too long to start is ended", async () => {
  const program = new OwnedProcess({ name: "It", command: "sleep", args: ["60"], startTimeoutMs: 0 });
  await expect(program.firstMessage()).rejects.toThrow("It did not start within 0 ms.");
  expect(program.hasEnded).toBe(true);
});

test("dynalite survives clients that abort in the middle of a request", async () => {
  await using dynalite = await startDynalite();
  for (let index = 0; index < 10; index++) {
    const socket = connect(Number(new URL(dynalite.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write("POST / HTTP/1.1\r\nHost: dynalite\r\nContent-Length: 20\r\n\r\n{");
    await delay(index);
    socket.resetAndDestroy();
  }
  await expect(fetch(dynalite.url)).resolves.toBeDefined();
});

test.skipIf(await isMissing(motoMissing()))("moto does not wait for a client that has connected and says nothing", async () => {
  await using moto = await startMoto();
  const silent = connect(Number(new URL(moto.url).port), "127.0.0.1");
  onTestFinished(() => void silent.destroy());
  await once(silent, "connect");
  await expect(fetch(moto.url)).resolves.toBeDefined();
});

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
