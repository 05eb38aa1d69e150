import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base } from "vitest";
import { startRegistry } from "./registry.ts";

/** `test` with a registry of our packed packages, and a temporary folder, which all tests of the file share. */
export const test = base
  .extend("folder", { scope: "file" }, async ({}, { onCleanup }) => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-examples-"));
    onCleanup(async () => rm(folder, { recursive: true, force: true }));
    return folder;
  })
  .extend("registry", { scope: "file" }, async ({ folder }, { onCleanup }) => {
    const registry = await startRegistry(folder);
    onCleanup(async () => registry[Symbol.asyncDispose]());
    return registry;
  })
  /** What has to end with the test. */
  .extend("open", async ({}, { onCleanup }) => {
    const open = new AsyncDisposableStack();
    onCleanup(async () => open.disposeAsync());
    return open;
  });
