import { test as base } from "vitest";
import { Workshop } from "./workshop.ts";

export const workshop = new Workshop();

/** Most of it is for what is installed before; a test itself takes less than a minute. */
export const TIME_LIMIT_MS = 1_200_000;

/** A leader renews every third of it, and steps down after two thirds without a renewal: a stall of 4 s costs it nothing. */
export const LEASE_MS = 12_000;

export const test = base
  /** A temporary folder, which all tests share. */
  .extend("folder", async ({}) => workshop.folder)
  /** What has to end with the test. */
  .extend("open", async ({}, { onCleanup }) => {
    const open = new AsyncDisposableStack();
    onCleanup(async () => open.disposeAsync());
    return open;
  });
