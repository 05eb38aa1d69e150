import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { RestError } from "@azure/storage-blob";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startAzurite } from "../backends/azurite.ts";
import type { Azurite } from "../backends/azurite.ts";
import { containerClient, freshBlob } from "../backends/fresh-container.ts";
import { processState, reachesState } from "../processes/process-state.ts";

const HOUR_MS = 3_600_000;

describe("its process", () => {
  test("serves, and is gone when stop resolves", async () => {
    const azurite = await startAzurite();
    const blob = await freshBlob(azurite.url);
    await expect(blob.exists()).resolves.toBe(true);

    await azurite.stop();

    await expect(processState(azurite.pid)).resolves.toBe("gone");
    await azurite.stop();
  });

  test("can be stopped while it is paused, and ends what waits for it", async () => {
    const azurite = await startAzurite();
    await azurite.pause();

    const [advanced] = await Promise.allSettled([azurite.advance(1), azurite.stop()]);

    await expect(processState(azurite.pid)).resolves.toBe("gone");
    expect(advanced).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("has ended") } });
    await expect(azurite.advance(1)).rejects.toThrow(`Azurite (pid ${azurite.pid}) has ended, killed by SIGKILL.`);
    await expect(azurite.pause()).rejects.toThrow("has ended");
    azurite.resume();
  });

  test("leaves nothing behind that keeps its parent alive", async () => {
    const owner = startOwner("stop");
    const [code] = (await once(owner.process, "exit")) as [number | null];
    expect(code).toBe(0);
    await expect(processState((await owner.azurite).pid)).resolves.toBe("gone");
  });

  test.each(["serve", "pause"] as const)("dies with a parent that is killed (%s)", async (then) => {
    const owner = startOwner(then);
    const { pid } = await owner.azurite;
    await expect(processState(pid)).resolves.toBe(then === "pause" ? "stopped" : "running");

    owner.process.kill("SIGKILL");

    await reachesState(pid, "gone");
  });

  test("comes back on the same port, empty", async () => {
    await using first = await startAzurite();
    const blob = await freshBlob(first.url);
    await first.stop();

    await using second = await startAzurite({ port: Number(new URL(first.url).port) });

    expect(second.url).toBe(first.url);
    await expect(blob.exists()).resolves.toBe(false);
  });

  test("says why it could not start", async () => {
    const occupant = createServer().listen(0, "127.0.0.1");
    await once(occupant, "listening");
    onTestFinished(() => void occupant.close());
    const { port } = occupant.address() as AddressInfo;

    await expect(startAzurite({ port })).rejects.toThrow(new RegExp(`did not start, exit code 1[^]*EADDRINUSE[^]*:${port}`));
  });

  test("does not take longer to start than it may", async () => {
    await expect(startAzurite({ startTimeoutMs: 0 })).rejects.toThrow("did not start within 0 ms");
  });
});

describe("its service", () => {
  let azurite: Azurite;
  let movedMs = 0;

  beforeAll(async () => {
    azurite = await startAzurite();
  });

  afterAll(async () => {
    await azurite.stop();
  });

  async function advance(ms: number): Promise<void> {
    await azurite.advance(ms);
    movedMs += ms;
  }

  test("gives a lease to exactly one of twenty who ask at once", async () => {
    const blob = await freshBlob(azurite.url);

    const racers = Array.from({ length: 20 }, () => blob.getBlobLeaseClient(randomUUID()).acquireLease(15));
    const outcomes = await Promise.allSettled(racers);

    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as RestError] : []));
    expect(refusals.map(({ code }) => code)).toEqual(Array.from({ length: 19 }, () => "LeaseAlreadyPresent"));
  });

  test("answers nobody while it is paused, and then everybody", async () => {
    const blob = await freshBlob(azurite.url);

    await azurite.pause();
    let answered = false;
    const reply = blob.getProperties().then(() => (answered = true));
    // Long enough for a hundred answers of one that runs.
    await expect(blob.getProperties({ abortSignal: AbortSignal.timeout(200) })).rejects.toThrow("aborted");
    expect(answered).toBe(false);

    azurite.resume();
    await reply;
    expect(answered).toBe(true);
  });

  test("expires a lease when its clock is moved past the lease's end, and not before", async () => {
    const blob = await freshBlob(azurite.url);
    const holder = blob.getBlobLeaseClient(randomUUID());
    const rival = blob.getBlobLeaseClient(randomUUID());
    await holder.acquireLease(15);

    const startedMs = performance.now();
    await advance(12_000);
    await expect(rival.acquireLease(15)).rejects.toMatchObject({ code: "LeaseAlreadyPresent" });
    await advance(3_001);
    await rival.acquireLease(15);
    const tookMs = performance.now() - startedMs;

    await expect(holder.renewLease()).rejects.toMatchObject({ code: "LeaseIdMismatchWithLeaseOperation" });
    // Three requests; by a real clock this takes 15 seconds.
    expect(tookMs).toBeLessThan(3_000);
  });

  test("dates its successes, its errors and what it stores by that clock", async () => {
    const blob = await freshBlob(azurite.url);

    for (const ms of [0, HOUR_MS, -2 * HOUR_MS]) {
      await advance(ms);
      const earliestMs = Date.now() + movedMs;
      const success = await blob.setMetadata({});
      const failure = await failureOf(blob.setMetadata({}, { conditions: { ifMatch: '"another"' } }));
      const missing = await failureOf(containerClient(azurite.url).getBlobClient("none").getProperties());
      const latestMs = Date.now() + movedMs;

      const dates = [success.date!, success.lastModified!, dateOf(failure), dateOf(missing)];
      for (const date of dates) {
        // A header has whole seconds.
        expect(date.getTime()).toBeGreaterThan(earliestMs - 1_000);
        expect(date.getTime()).toBeLessThanOrEqual(latestMs);
      }
    }
  });

  test("moves its clock by numbers only, and once it runs if it is paused", async () => {
    await expect(azurite.advance(Number.NaN)).rejects.toThrow(RangeError);
    await azurite.pause();
    const advanced = advance(1);
    azurite.resume();
    await advanced;
  });
});

async function failureOf(request: Promise<unknown>): Promise<RestError> {
  return await request.then(
    () => expect.fail("The request should have failed."),
    (error: unknown) => error as RestError,
  );
}

function dateOf(error: RestError): Date {
  return new Date(error.response!.headers.get("date")!);
}

/** Runs azurite-owner.ts in a process of its own; `azurite` is the one that it has started. */
function startOwner(then: "serve" | "pause" | "stop") {
  const script = fileURLToPath(new URL("./azurite-owner.ts", import.meta.url));
  const owner = spawn(process.execPath, [script, then], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void owner.kill("SIGKILL"));
  const azurite = once(createInterface(owner.stdout), "line").then(
    ([line]) => JSON.parse(line as string) as { readonly pid: number },
  );
  return { process: owner, azurite };
}
