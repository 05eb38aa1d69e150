import { test as base } from "vitest";
import { operationOf } from "@leasehold/test-kit/conformance/dynamodb-place";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { TableWorld } from "./table-world.ts";

/** A test with a world of its own: one dynalite for the file, and a table and a clock for each test. */
export const test = base
  .extend("dynalite", { scope: "file" }, async ({}, { onCleanup }) => {
    const dynalite = await startDynalite();
    onCleanup(() => dynalite.stop());
    return dynalite;
  })
  .extend("proxy", { scope: "file" }, async ({ dynalite }, { onCleanup }) => {
    const proxy = await startFaultProxy(dynalite.url, { nameOf: operationOf });
    onCleanup(() => proxy.stop());
    return proxy;
  })
  .extend("world", async ({ dynalite, proxy }, { onCleanup }) => {
    const world = new TableWorld(dynalite.url, proxy);
    await world.start();
    onCleanup(() => world.dispose());
    return world;
  });
