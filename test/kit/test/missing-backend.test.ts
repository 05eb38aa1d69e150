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

test("a backend that is there is not skipped, and nothing is said", async () => {
  await expect(isMissing(Promise.resolve(undefined))).resolves.toBe(false);
  expect(written).toEqual([]);
});

test("a missing one is skipped, and that is said once", async () => {
  vi.stubEnv("LEASEHOLD_ALL_BACKENDS", undefined);
  const reason = "Nothing is installed: apt-get install nothing";
  await expect(isMissing(Promise.resolve(reason))).resolves.toBe(true);
  await expect(isMissing(Promise.resolve(reason))).resolves.toBe(true);
  expect(written).toEqual([`SKIPPED: ${reason}\n`]);
});

test("a missing one is an error where all have to be there", async () => {
  vi.stubEnv("LEASEHOLD_ALL_BACKENDS", "1");
  await expect(isMissing(Promise.resolve("It is not installed"))).rejects.toThrow("It is not installed");
  expect(written).toEqual([]);
});
