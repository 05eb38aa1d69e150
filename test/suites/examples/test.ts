import { test as base } from "vitest";
import { Workshop } from "./workshop.ts";

export const workshop = new Workshop();

/** Most of this time is for the installation before the tests. A test itself takes less than a minute. */
export const TIME_LIMIT_MS = 1_200_000;

/** A leader renews every third of the lease, and steps down after two thirds without a renewal. It survives a stall of 4 s. */
export const LEASE_MS = 12_000;

export const test = base
  /** A temporary folder, which all tests share. */
  .extend("folder", async ({}) => workshop.folder)
  /** The resources that end with the test. */
  .extend("open", async ({}, { onCleanup }) => {
    const open = new AsyncDisposableStack();
    onCleanup(async () => open.disposeAsync());
    return open;
  });
