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
  await writeFile(tokenFile, "third");
  expect(await token()).toBe("Bearer third");
});

test("a plugin is asked again a minute before its credentials expire, and never if they do not", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-kubernetes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clock = new VirtualClock();
  const script = `const { appendFileSync, readFileSync } = require("fs");
    appendFileSync("runs", "x");
    console.log(JSON.stringify({ status: { token: readFileSync("runs", "utf8"), expirationTimestamp: process.env.EXPIRES } }))`;
  const pluginOf = (expires: string, runs: string) => ({
    apiVersion: "v1",
    command: process.execPath,
    args: ["-e", script.replaceAll('"runs"', JSON.stringify(join(folder, runs)))],
    env: { EXPIRES: expires },
  });
  const inTenMinutes = new Date(clock.wallMs() + 600_000).toISOString();
  const expiring = keptCredentials({ plugin: pluginOf(inTenMinutes, "expiring") }, clock);
  const lasting = keptCredentials({ plugin: pluginOf("", "lasting") }, clock);
  const tokens = async () => [(await expiring.credentials()).authorization, (await lasting.credentials()).authorization];
  expect(await tokens()).toEqual(["Bearer x", "Bearer x"]);
  await clock.advance(539_999);
  expect(await tokens()).toEqual(["Bearer x", "Bearer x"]);
  await clock.advance(1);
  await expect.poll(tokens).toEqual(["Bearer xx", "Bearer x"]);
});
