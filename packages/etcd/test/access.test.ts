import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Elector, oncePerOccurrence } from "@leasehold/core";
import { EtcdLeaseStore, type EtcdLeaseStoreOptions, type EtcdTls } from "@leasehold/etcd";
import { makeCertificates, opensslMissing, type Certificates, type KeyPair } from "@leasehold/test-kit/backends/certificates";
import { enableAuth, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { header } from "./scripted.ts";

const LIMITS = { timeoutMs: 5_000 };
const USER = { user: "worker", password: "Zq4711" };
/** etcd's shortest token lifetime, in seconds; a token ends up to a second late. */
const TOKEN_TTL_S = 1;
const RENEWAL_MS = 3_000;

// One etcd has both: TLS with certificates on both sides, and a user with only the role of the README.
const missing = (await isMissing(etcdMissing())) || (await isMissing(opensslMissing()));
describe.skipIf(missing)("etcd that requires a client's certificate and a password", () => {
  let etcd: Etcd;
  let folder: string;
  let certificates: Certificates;
  let tls: Required<EtcdTls>;

  beforeAll(async () => {
    folder = await memoryFolder("leasehold-etcd-access-");
    certificates = await makeCertificates(folder);
    tls = { ca: await readFile(certificates.ca), ...(await read(certificates.client)) };
    etcd = await startEtcd({ certificates, tokenTtlS: TOKEN_TTL_S });
    await enableAuth(etcd, USER, ["nightly/", ".leasehold/nightly%2F"]);
  });

  afterAll(async () => {
    await etcd.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("lets a user with that role use elections, orders and occurrences", async () => {
    const store = storeOf();
    const election = randomUUID();
    await store.check({ election });
    const elector = new Elector({ store, election, leaseDurationMs: 15_000 });
    {
      await using leadership = await elector.campaign();
      await leadership.publish("value");
      expect(await store.read(election)).toMatchObject({ state: "held", value: "value" });
      await store.break(election, { reason: "to see that it may", immediate: true });
    }
    const occurrence = { store, name: election, scheduledAt: new Date(), leaseDurationMs: 15_000 };
    const done = await oncePerOccurrence(occurrence, () => "done");
    expect(done).toMatchObject({ result: "done" });
  });

  test("lets an elector go on whose token expires between its renewals", async () => {
    const store = storeOf();
    const elector = new Elector({ store, election: randomUUID(), leaseDurationMs: 3 * RENEWAL_MS, logger: false });
    const renewed = Promise.withResolvers<void>();
    elector.on("renewed", () => renewed.resolve());
    await using leadership = await elector.campaign();
    await renewed.promise;
    expect(leadership.isValid()).toBe(true);
  });

  test("gets all requests over one connection that is kept open", async () => {
    const server = createServer(await read(certificates.server), (_, response) => response.end(JSON.stringify(header(7))));
    onTestFinished(() => void server.close());
    let connections = 0;
    server.on("secureConnection", () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const endpoints = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const store = new EtcdLeaseStore({ endpoints, tls: { ca: tls.ca } });
    for (let reads = 0; reads < 3; reads += 1) expect(await store.read("election")).toBeUndefined();
    expect(connections).toBe(1);
  });

  test("causes errors that name what is wrong", async () => {
    const wrong: ReadonlyArray<readonly [options: EtcdLeaseStoreOptions, code: string, message: RegExp]> = [
      [{ password: "wrong" }, "STORE_UNAUTHENTICATED", /authentication failed, invalid user ID or password/],
      [{ user: undefined, password: undefined }, "STORE_DENIED", /permission denied/],
      [{ prefix: "elsewhere/" }, "STORE_DENIED", /permission denied.*read and to write.*\.leasehold\//],
      [{ tls: { ca: tls.ca } }, "STORE_UNAUTHENTICATED", /tls\.cert and tls\.key/],
      [{ tls: { ...tls, ca: undefined } }, "STORE_UNAUTHENTICATED", /tls\.ca/],
      [
        { tls: { ca: tls.ca, ...(await read(certificates.named)) } },
        "STORE_UNAUTHENTICATED",
        /refuses a client's certificate.* common name/,
      ],
      [{ endpoints: etcd.url.replace("https:", "http:"), tls: undefined }, "STORE_UNAVAILABLE", /https: rather than http:/],
    ];
    for (const [options, code, message] of wrong) {
      const failure = await storeOf(options)
        .check({ election: "election", ...LIMITS })
        .catch((error: unknown) => error);
      expect(failure).toMatchObject({ code, message: expect.stringMatching(message) as string });
      expect(String(failure)).not.toContain(USER.password);
    }
  });

  function storeOf(options: EtcdLeaseStoreOptions = {}): EtcdLeaseStore {
    return new EtcdLeaseStore({ endpoints: etcd.url, tls, ...USER, prefix: "nightly/", ...options });
  }
});

async function read({ cert, key }: KeyPair): Promise<{ readonly cert: Buffer; readonly key: Buffer }> {
  return { cert: await readFile(cert), key: await readFile(key) };
}
