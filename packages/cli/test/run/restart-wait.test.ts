import { expect, test } from "vitest";
import { RestartWait } from "../../src/run/restart-wait.ts";

const LEASE_MS = 15_000;

test("a command that ends soon again and again waits longer each time, up to half a minute", () => {
  const wait = new RestartWait();
  const waits = [0, 1, LEASE_MS - 1, 0, 0, 0, 0, 0].map((ranMs) => wait.after(ranMs, LEASE_MS));
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

test("a command that ran for a lease is run again at once, and the wait is reset", () => {
  const wait = new RestartWait();
  expect([0, LEASE_MS, 0, 0].map((ranMs) => wait.after(ranMs, LEASE_MS))).toEqual([500, 0, 500, 1_000]);
});
