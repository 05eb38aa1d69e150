import { mkdtemp, rm } from "node:fs/promises";
import fs, { type StatsFs } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Elector } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect, onTestFinished, test, vi } from "vitest";
import { networkFileSystem, networkFileWarning } from "../src/sqlite/network-file-system.ts";

test("a file system of another machine is known by its number", () => {
  const numbers = [0x6969, 0x517b, 0xfe534d42, 0x00c36400, 0x01021997, 0x0bd00bd0, 0x47504653];
  expect(numbers.map(networkFileSystem)).toEqual(["NFS", "SMB", "SMB", "Ceph", "9P", "Lustre", "GPFS"]);
  // CIFS, as a signed number.
  expect(networkFileSystem(0xff534d42 | 0)).toBe("SMB");
  // ext4.
  expect(networkFileSystem(0xef53)).toBeUndefined();
});

/** Gives every file system the number that NFS has on Linux. */
function mountNfs(): void {
  const statfs = vi.spyOn(fs, "statfsSync").mockReturnValue({ type: 0x6969 } as StatsFs);
  syncBuiltinESMExports();
  onTestFinished(() => {
    statfs.mockRestore();
    syncBuiltinESMExports();
  });
}

test.each([
  ["linux", true],
  ["darwin", false],
])("on %s a number of Linux means NFS: %s", (platform, isMeant) => {
  const own = Object.getOwnPropertyDescriptor(process, "platform")!;
  Object.defineProperty(process, "platform", { ...own, value: platform });
  onTestFinished(() => void Object.defineProperty(process, "platform", own));
  mountNfs();
  expect(networkFileWarning("/leases.db") !== undefined).toBe(isMeant);
});

test.runIf(process.platform === "linux")("a store warns its electors once of a file on NFS", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sqltest-"));
  onTestFinished(async () => rm(folder, { recursive: true }));
  mountNfs();
  const warn = vi.fn<(message: string) => void>();
  const ignore = (): void => undefined;
  const logger = { debug: ignore, info: ignore, warn, error: ignore };
  await using store = new SqlLeaseStore({ sqlite: join(folder, "leases.db") });
  for (let electors = 0; electors < 2; electors += 1) await new Elector({ store, election: "e", logger }).tryRun(() => undefined);
  expect(warn.mock.calls.map(([message]) => message).filter((message) => message.includes("NFS"))).toEqual([
    "The file is on NFS; leases need a local disk, whose locks hold and whose writes last.",
  ]);
});

test("a folder that is missing gives no warning", () => {
  expect(networkFileWarning("/no/such/folder/leases.db")).toBeUndefined();
});
