import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isMissing } from "../backends/missing-backend.ts";

const written: string[] = [];

beforeEach(() => {
  written.length = 0;
  vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test("an installed backend is not skipped, and nothing is printed", async () => {
  await expect(isMissing(Promise.resolve(undefined))).resolves.toBe(false);
  expect(written).toEqual([]);
});

test("a missing backend is skipped, and that is printed once", async () => {
  vi.stubEnv("LEASEHOLD_ALL_BACKENDS", undefined);
  const reason = "Nothing is installed: apt-get install nothing";
  await expect(isMissing(Promise.resolve(reason))).resolves.toBe(true);
  await expect(isMissing(Promise.resolve(reason))).resolves.toBe(true);
  expect(written).toEqual([`SKIPPED: ${reason}\n`]);
});

test("a missing backend is an error if all must be installed", async () => {
  vi.stubEnv("LEASEHOLD_ALL_BACKENDS", "1");
  await expect(isMissing(Promise.resolve("It is not installed"))).rejects.toThrow("It is not installed");
  expect(written).toEqual([]);
});
