import { BlobDistributedMutex, type BlobMutexSettings, type MutexTask } from "@leasehold/azure-blob";
import { ConfigurationError, LeaseLostError, type Leadership } from "@leasehold/core";
import { describe, expect } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

/** One instance of an application. */
class Instance {
  readonly name: string;
  readonly mutex: BlobDistributedMutex;
  readonly signals: AbortSignal[] = [];
  readonly leaderships: Leadership[] = [];
  running = false;

  constructor(world: BlobWorld, name: string, settings: Partial<BlobMutexSettings> = {}) {
    this.name = name;
    const task: MutexTask = async (signal, leadership) => {
      this.signals.push(signal);
      this.leaderships.push(leadership);
      this.running = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      this.running = false;
    };
    this.mutex = new BlobDistributedMutex(
      {
        container: world.proxied,
        createContainer: true,
        blobName: ELECTION,
        candidateId: name,
        clock: world.clock,
        leaseDurationMs: 15_000,
        ...settings,
      },
      task,
    );
    world.listen(this.mutex.elector);
  }
}

describe("a BlobDistributedMutex", () => {
  test("gives its task a signal that is linked to the caller's, waits for the task, and then releases", async ({ world }) => {
    const finishing = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    const mutex = new BlobDistributedMutex(
      { container: world.proxied, createContainer: true, blobName: ELECTION, clock: world.clock },
      async (taskSignal) => {
        signal = taskSignal;
        await finishing.promise;
      },
    );
    const stopping = new AbortController();
    let settled = false;
    const run = mutex.runTaskWhenMutexAcquired(stopping.signal).then(() => (settled = true));
    await world.until(() => signal !== undefined);
    const reason = new Error("the caller's own");
    stopping.abort(reason);
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toBe(reason);

    // The lease is renewed while the task runs.
    const sent = await world.namesDuring(() => world.pass(12_000));
    expect(sent.filter((name) => name === "lease:renew").length).toBeGreaterThanOrEqual(2);
    expect(sent).not.toContain("lease:release");
    expect(settled).toBe(false);
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased" });

    finishing.resolve();
    await world.settled(run);
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "available" });
  });

  test("gives its task a signal that is linked to the lease", async ({ world }) => {
    const instance = new Instance(world, "a");
    const stopping = new AbortController();
    const run = instance.mutex.runTaskWhenMutexAcquired(stopping.signal);
    await world.until(() => instance.running);
    await instance.mutex.store.break(ELECTION, { reason: "emergency", immediate: true });

    await world.until(() => instance.signals[0]!.aborted);
    expect(instance.signals[0]?.reason).toBeInstanceOf(LeaseLostError);
    expect(stopping.signal.aborted).toBe(false);
    // The instance tries again.
    await world.until(() => instance.leaderships.length === 2);
    expect(instance.leaderships[1]?.term).toBe(2);
    stopping.abort();
    await world.settled(run);
  });

  test("runs its task again when it ends by itself, and rejects with the task's error", async ({ world }) => {
    let runs = 0;
    const failure = new Error("the task's own");
    const mutex = new BlobDistributedMutex(
      { container: world.proxied, blobName: ELECTION, clock: world.clock, createContainer: true },
      () => {
        runs += 1;
        if (runs === 3) throw failure;
      },
    );

    await expect(world.settled(mutex.runTaskWhenMutexAcquired())).rejects.toBe(failure);

    expect(runs).toBe(3);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 3 });
  });

  test("accepts a blob, like the pattern, and gives access to its store and elector", async ({ world }) => {
    await world.container.create();
    const blob = world.proxied.getBlobClient("my mutex");
    const instance = new Instance(world, "a", { container: undefined, blobName: undefined, blob });
    const stopping = new AbortController();
    const run = instance.mutex.runTaskWhenMutexAcquired(stopping.signal);
    await world.until(() => instance.running);

    expect(instance.mutex.elector).toMatchObject({ election: "my mutex", isLeader: true });
    await world.container.getBlockBlobClient("report").upload("drafted", 7);
    await instance.mutex.store.seal(instance.leaderships[0]!, world.proxied.getBlobClient("report"));
    await expect(
      instance.mutex.store.fencedUpload(
        { ...instance.leaderships[0]!, term: 0 },
        world.proxied.getBlockBlobClient("report"),
        "late",
      ),
    ).rejects.toMatchObject({ code: "FENCED", currentTerm: 1 });
    await expect(world.container.getBlobClient("my mutex").getProperties()).resolves.toMatchObject({
      leaseState: "leased",
      metadata: { leasehold_term: "1", leasehold_candidate: "a" },
    });
    stopping.abort();
    await world.settled(run);
  });

  test.for([
    ["no place", {}, /exactly one of/],
    ["a container without the blob's name", { container: "container" }, /blobName/],
    ["a blob and another blob's name", { blob: "blob", blobName: "other" }, /blobName/],
    [
      "a lease that Azure does not give",
      { container: "container", blobName: ELECTION, leaseDurationMs: 5_000 },
      /leaseDurationMs is 5000/,
    ],
    ["no such candidateId", { container: "container", blobName: ELECTION, candidateId: "" }, /candidateId is empty/],
  ] as const)("refuses %s when it is made, before any request", async ([, settings, message], { world }) => {
    const { container, blob, ...rest } = settings as { container?: string; blob?: string };
    const make = (): BlobDistributedMutex =>
      new BlobDistributedMutex(
        {
          ...rest,
          ...(container === undefined ? {} : { container: world.proxied }),
          ...(blob === undefined ? {} : { blob: world.proxied.getBlobClient(ELECTION) }),
        },
        () => undefined,
      );

    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
    expect(world.requests).toEqual([]);
  });
});
