import { BlobLeaseStore } from "@leasehold/azure-blob";
import { ConfigurationError, Elector, type LeaderTask, type OccurrenceLeadership, type TryRunOutcome } from "@leasehold/core";
import type { OccurrenceStore } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

const TICK = "nightly@2026-11-20T10:00:00.000Z";
const BLOB = "ticks/nightly-billing/nightly%402026-11-20T10%3A00%3A00%2E000Z";
const RETENTION_MS = 7 * 86_400_000;

/** Returns the occurrences for an invocation that has just started, and has read nothing. */
function cold(world: BlobWorld): OccurrenceStore {
  return world.store().occurrences(ELECTION, { retentionMs: RETENTION_MS });
}

/** Makes one attempt at an occurrence in an invocation of its own. */
async function attempt<T>(
  world: BlobWorld,
  task: LeaderTask<T, OccurrenceLeadership>,
  election = TICK,
): Promise<TryRunOutcome<T>> {
  const elector = new Elector({ store: cold(world), election, leaseDurationMs: LEASE_MS, clock: world.clock });
  return await world.settled(elector.tryRun(task));
}

function claiming(candidateId: string): ReturnType<typeof acquiring> {
  return acquiring({ election: TICK, candidateId, expiry: "store-clock" });
}

describe("an occurrence", () => {
  test("is one small blob of its own, with the record in it, and its lease is never used", async ({ world }) => {
    await attempt(world, (leadership) => leadership.complete());

    const blob = world.container.getBlobClient(BLOB);
    const { contentType, leaseState, metadata } = await blob.getProperties();
    expect([contentType, leaseState, metadata]).toEqual(["application/json", "available", {}]);
    expect(JSON.parse((await blob.downloadToBuffer()).toString())).toMatchObject({
      schema: 3,
      term: 1,
      termId: null,
      done: true,
    });
    expect(world.requests.filter(({ name }) => name.startsWith("lease:"))).toEqual([]);
  });

  test("creates the container only if it is missing", async ({ world }) => {
    const sent = await world.namesDuring(() => attempt(world, (leadership) => leadership.complete()));

    expect(sent).toEqual(["get", "put-blob", "create-container", "put-blob", "put-blob"]);
  });

  test("is not taken over before its lease has passed, though the service's machines disagree by a second", async ({ world }) => {
    await cold(world).acquire(claiming("a"));
    await world.forward(LEASE_MS - 100);
    world.dateReplies(world.serviceMs(world.clock.monotonicMs()) - world.clock.monotonicMs() + 1_000);

    await expect(attempt(world, ({ term }) => term)).resolves.toMatchObject({ elected: false });
  });

  test("whose reply breaks off is not requested again by the SDK", async ({ world }) => {
    await attempt(world, () => "worked");
    world.faultOnce("get", { kind: "cut", side: "mid-reply" });
    const store = cold(world);

    const sent = await world.namesDuring(() => world.witness.failureOf(store.read(TICK)));

    expect(sent).toEqual(["get"]);
  });
});

describe("occurrences", () => {
  test("whose names are too long together are refused before any request", async ({ world }) => {
    const longest = "界".repeat(85);
    const store = world.store().occurrences(longest, { retentionMs: RETENTION_MS });

    const sent = await world.namesDuring(async () => {
      for (const refused of [() => store.read(longest), () => store.acquire(acquiring({ election: longest }))]) {
        await expect(refused()).rejects.toBeInstanceOf(ConfigurationError);
      }
    });

    expect(sent).toEqual([]);
    await expect(store.read("nightly@2026-11-20T10:00:00.000Z")).resolves.toBeUndefined();
  });

  test("of an impossible election, or without a retention, are refused", ({ world }) => {
    const store = world.store();
    for (const [election, retentionMs] of [
      ["", 1],
      ["\ud800", 1],
      [ELECTION, 0],
      [ELECTION, Number.NaN],
      [ELECTION, 2 ** 31],
    ] as const) {
      expect(() => store.occurrences(election, { retentionMs })).toThrow(ConfigurationError);
    }
  });

  test("cannot be held by a store that was given one blob", ({ world }) => {
    const store = new BlobLeaseStore({ blob: world.proxied.getBlobClient(ELECTION), clock: world.clock });

    expect(() => store.occurrences(ELECTION, { retentionMs: RETENTION_MS })).toThrow(/pass its container instead/);
    expect(() => store.occurrences(ELECTION, { retentionMs: RETENTION_MS })).toThrow(ConfigurationError);
  });
});
