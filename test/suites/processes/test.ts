import { test as base } from "vitest";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { Scene } from "./scene.ts";

/** Ten times the duration of the longest test on an idle machine. */
export const TIME_LIMIT_MS = 600_000;

/** `test` with the fixtures of these tests. Every election has processes of its own, which end with the test. */
export const test = base
  /** The Azurite that all share. */
  .extend("azurite", { scope: "file" }, async ({}, { onCleanup }) => {
    const azurite = await startAzurite();
    onCleanup(async () => azurite.stop());
    return azurite;
  })
  /** An Azurite for an election that disturbs it. */
  .extend("ownAzurite", async ({}, { onCleanup }) => {
    const azurite = await startAzurite();
    onCleanup(async () => azurite.stop());
    return azurite;
  })
  .extend("scene", ({ azurite, onTestFailed }, { onCleanup }) => {
    const scene = new Scene(azurite.url, onTestFailed);
    onCleanup(async () => scene.end());
    return scene;
  })
  .extend("ownScene", ({ ownAzurite, onTestFailed }, { onCleanup }) => {
    const scene = new Scene(ownAzurite.url, onTestFailed);
    onCleanup(async () => scene.end());
    return scene;
  });
