import { test as base } from "vitest";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { freshBlob } from "@leasehold/test-kit/backends/fresh-container";
import { BlobWorld } from "./blob-world.ts";

/** A test with a world of its own: one Azurite for the process, and a container, a clock and a network for each test. */
export const test = base
  .extend("azurite", { scope: "worker" }, async ({}, { onCleanup }) => {
    const azurite = await startAzurite();
    onCleanup(() => azurite.stop());
    // Azurite's first answers take a second, which must not count in a test.
    await (await freshBlob(azurite.url)).getBlobLeaseClient().acquireLease(15);
    return azurite;
  })
  .extend("proxy", { scope: "worker" }, async ({ azurite }, { onCleanup }) => {
    const proxy = await startFaultProxy(azurite.url);
    onCleanup(() => proxy.stop());
    return proxy;
  })
  .extend("world", ({ azurite, proxy }, { onCleanup }) => {
    const world = new BlobWorld(azurite, proxy);
    onCleanup(() => world.dispose());
    return world;
  });
