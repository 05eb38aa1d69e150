import { hostname } from "node:os";
import { afterEach, expect, test, vi } from "vitest";

const readFileSync = vi.fn<() => string>();

/** Returns the clock of a host in which `read` reads the file with the name of its run. */
async function clockWhere(read: () => string) {
  readFileSync.mockReset().mockImplementation(read);
  vi.resetModules();
  vi.doMock("node:fs", () => ({ readFileSync }));
  const { hostClock } = await import("../src/sqlite/host-clock.ts");
  return hostClock;
}

afterEach(() => {
  vi.doUnmock("node:fs");
  vi.restoreAllMocks();
});

test("a host's run has the name that Linux gives it, which is read once", async () => {
  const clock = await clockWhere(() => "a-run\n");
  expect(clock.identity).toBe("a-run");
  // The same happens if the process has no file descriptor left.
  readFileSync.mockImplementation(() => {
    throw new Error("EMFILE");
  });
  expect(clock.identity).toBe("a-run");
});

test("without that name, the run has the host's name", async () => {
  const clock = await clockWhere(() => {
    throw new Error("ENOENT");
  });
  expect(clock.identity).toBe(hostname());
});

test("its time is in milliseconds", async () => {
  const clock = await clockWhere(() => "a-run");
  vi.spyOn(process.hrtime, "bigint").mockReturnValue(7_500_000n);
  expect(clock.nowMs()).toBe(7.5);
});
