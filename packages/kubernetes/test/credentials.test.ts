import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, onTestFinished, test } from "vitest";
import { keptCredentials } from "../src/access.ts";

test("a token file is read again after a minute, and requests go on with the former token meanwhile", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-kubernetes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const tokenFile = join(folder, "token");
  const clock = new VirtualClock();
  const access = keptCredentials({ tokenFile }, clock);
  const token = async (): Promise<string | undefined> => (await access.credentials()).authorization;
  await writeFile(tokenFile, "first");
  expect(await token()).toBe("Bearer first");
  await writeFile(tokenFile, "second");
  await clock.advance(59_000);
  expect(await token()).toBe("Bearer first");
  await clock.advance(1_000);
  expect(await token()).toBe("Bearer first");
  await expect.poll(token).toBe("Bearer second");
  // A file that is gone for a moment changes nothing.
  await rm(tokenFile);
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer second");
  access.refused();
  await expect(token()).rejects.toMatchObject({ message: expect.stringContaining("cannot be read (ENOENT)") });
});
