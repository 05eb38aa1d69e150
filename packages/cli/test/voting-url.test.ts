import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { Elector } from "@leasehold/core";
import { VotingLeaseStore } from "@leasehold/voting";
import { openStoreUrl } from "../src/store-url/store-from-url.ts";

const SECRET = "what the servers sign by";
const PLACE = { env: { LEASEHOLD_VOTING_SECRET: SECRET }, workingDirectory: "/" };
const REQUEST = { election: "e", candidateId: "me", leaseDurationMs: 60_000, renewIntervalMs: 20_000, timeoutMs: 20_000 };

test("a URL of the servers, with the secret from the environment, reads, transfers and breaks", async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), "leasehold-cli-voting-"));
  onTestFinished(() => rm(stateDirectory, { recursive: true }));
  const host = `127.0.0.1:${await freePort()}`;
  const server = await VotingLeaseStore.open({ server: "a", servers: { a: `http://${host}` }, secret: SECRET, stateDirectory });
  onTestFinished(() => server.close());
  const elector = new Elector({
    store: server,
    election: "e",
    candidateId: "me",
    leaseDurationMs: 60_000,
    renewIntervalMs: 500,
    logger: false,
  });
  await using leadership = await elector.campaign();
  const { term } = leadership;

  await using store = await openStoreUrl(`voting://${host}`, PLACE);
  expect(await store.read("e", { timeoutMs: 20_000 })).toMatchObject({ state: "held", holder: "me", term });
  // The server knows of it once its own renewal has ended.
  const handedOver = store.transfer("e", "me", { ifTerm: term, transferTimeoutMs: 1_000, timeoutMs: 20_000 });
  await expect.poll(() => leadership.signal.aborted).toBe(true);
  expect(await store.break("e", { reason: "why not", timeoutMs: 20_000 })).toMatchObject({ broken: true });
  expect(await handedOver).toBe("lost");
  await expect(store.acquire(REQUEST)).rejects.toThrow(/^This process is no server/);
});

test("a missing or short secret, or a missing file of the authority, is an error with advice", async () => {
  const url = "voting://127.0.0.1:7400";
  await expect(openStoreUrl(url, { ...PLACE, env: {} })).rejects.toThrow(/^LEASEHOLD_VOTING_SECRET is not set/);
  await expect(openStoreUrl(url, { ...PLACE, env: { LEASEHOLD_VOTING_SECRET: "short" } })).rejects.toThrow(
    /secret has 5 characters/,
  );
  await expect(openStoreUrl("votings://h:1?ca=/nowhere/ca.pem", PLACE)).rejects.toThrow(/^ca names the file \/nowhere\/ca\.pem/);
});

test("with a server's name and directory, the process is that server and a candidate", async () => {
  const state = await mkdtemp(join(tmpdir(), "leasehold-cli-voting-"));
  onTestFinished(() => rm(state, { recursive: true }));
  const url = `voting://a=127.0.0.1:${await freePort()}?server=a&state=${state}`;
  await using store = await openStoreUrl(url, PLACE);
  const elector = new Elector({ store, election: "e", leaseDurationMs: 60_000, logger: false });
  await using leadership = await elector.campaign();
  expect(leadership.isValid()).toBe(true);
  expect(store.members?.()).toMatchObject([{ name: "a", counts: true }]);
  await expect(openStoreUrl("voting://a=127.0.0.1:1?server=a", PLACE)).rejects.toThrow("has 'state' as well");
});
