import { BlobLeaseStore } from "@leasehold/azure-blob";
import { ConfigurationError, Elector } from "@leasehold/core";
import { describe, expect } from "vitest";
import { ELECTION, LEASE_MS, win } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { test } from "./world-test.ts";

describe("electors on blobs", () => {
  test("take over from a crashed leader within a lease and a poll, on the grid that it published", async ({ world }) => {
    const crashed = world.candidate("a");
    await world.settled(crashed.elector.campaign());
    // Long enough for the grid to be sharp, and for the standby to know the service's clock.
    const standby = world.candidate("b");
    const leads = standby.elector.campaign();
    await world.pass(30_000);
    // No request of the crashed candidate arrives any more. The standby has a network of its own.
    let lastRenewalMs = 0;
    const ids = new Set(
      world.requests.filter(({ name }) => name === "lease:renew").map(({ headers }) => headers["x-ms-lease-id"]),
    );
    await world.until(() => world.requests.at(-1)?.name === "lease:renew");
    lastRenewalMs = world.clock.monotonicMs();
    world.proxy.rule = ({ headers }) => (ids.has(headers["x-ms-lease-id"]) ? { kind: "cut", side: "before" } : undefined);

    await world.until(() => standby.elector.isLeader);

    const tookMs = world.clock.monotonicMs() - lastRenewalMs;
    expect(tookMs).toBeGreaterThan(LEASE_MS - 1_500);
    expect(tookMs).toBeLessThan(LEASE_MS + 2_500);
    expect(crashed.elector.isLeader).toBe(false);
    world.proxy.rule = undefined;
    await (await leads).release();
  });

  test("a term write that never arrives makes no leader, and blocks no candidate", async ({ world }) => {
    const unlucky = world.candidate("a");
    const stopping = new AbortController();
    world.proxy.rule = onlyFor("metadata", { kind: "black-hole", side: "request" });
    const running = unlucky.elector.run(() => expect.fail("It must not lead."), { signal: stopping.signal });
    await world.until(() => unlucky.events.all("storeFailed").length > 0);
    stopping.abort();
    await world.settled(running);
    world.proxy.rule = undefined;

    await expect(world.candidate("b").elector.tryRun(({ term }) => term)).resolves.toMatchObject({ elected: true, term: 1 });
  });

  test("an election that the store cannot hold is an error, and not an endless wait", async ({ world }) => {
    const store = new BlobLeaseStore({ blob: world.proxied.getBlobClient("another"), clock: world.clock });
    const elector = new Elector({ store, election: ELECTION, clock: world.clock });

    const error = await world.witness.failureOf(world.settled(elector.run(() => expect.fail("It must not lead."))));

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain("'another'");
  });
});

describe("an elector's lease on a blob", () => {
  test.for([15_000, 16_000, 60_000])("of %d ms is taken, and lasts that long", async (leaseDurationMs, { world }) => {
    const store = world.store();
    await win(store, { leaseDurationMs });
    await world.forward(leaseDurationMs - 2_000);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "unknown", leaseDurationMs });
    await world.forward(5_000);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "expired" });
  });
});
