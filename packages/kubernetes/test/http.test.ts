import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isLeaseholdError, type StoreError } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { makeCertificates, opensslMissing, type Certificates } from "@leasehold/test-kit/backends/certificates";
import { startKubernetes, type KubernetesServer } from "@leasehold/test-kit/backends/kubernetes";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { failure, type Reply } from "@leasehold/test-kit/simulated/kubernetes-objects";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { podAccess } from "../src/access.ts";
import { HttpTransport } from "../src/http-transport.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

let server: KubernetesServer;
let folder: string;
beforeAll(async () => {
  server = await startKubernetes();
  folder = await mkdtemp(join(tmpdir(), "leasehold-kubernetes-"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function errorOf(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => new Error("It succeeded."),
    (reason: unknown) => reason,
  );
  if (isLeaseholdError(error)) return error as StoreError;
  throw error;
}

const REQUEST = { election: "e", candidateId: "a", leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 30_000 };

test.for<readonly [string, Reply, Partial<StoreError>]>([
  [
    "429 with Retry-After",
    { ...failure(429, "TooManyRequests", "too many"), headers: { "Retry-After": "3" } },
    { code: "STORE_THROTTLED", mayHaveBeenApplied: false, retryAfterMs: 3_000 },
  ],
  [
    "500 while etcd has a new leader",
    failure(500, "InternalError", "etcdserver: leader changed"),
    { code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true },
  ],
  ["504", failure(504, "Timeout", "request did not complete"), { code: "STORE_TIMEOUT", mayHaveBeenApplied: true }],
  ["403", failure(403, "Forbidden", "forbidden"), { code: "STORE_DENIED", mayHaveBeenApplied: false }],
  ["422", failure(422, "Invalid", "invalid"), { code: "STORE_REJECTED", mayHaveBeenApplied: false }],
  ["400 of another service", { status: 400, body: { text: "no" } }, { code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true }],
  ["an answer of a gateway", { status: 502, body: { text: "no" } }, { code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true }],
])("a write that is answered with %s", async ([, reply, expected]) => {
  server.api.intercept = ({ method }) => (method === "POST" ? reply : undefined);
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url) });
  const error = await errorOf(store.acquire({ ...REQUEST, election: "refused" }));
  server.api.intercept = undefined;
  expect(error).toMatchObject({ operation: "put", election: "refused", ...expected });
});

test("a namespace that does not exist is named as missing", async () => {
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url), namespace: "nowhere" });
  const error = await errorOf(store.acquire(REQUEST));
  expect(error).toMatchObject({ code: "STORE_MISSING", mayHaveBeenApplied: false });
  expect(error.message).toContain('namespaces "nowhere" not found');
});

test("a success that is not of Kubernetes is an error, and so is a page of 404", async () => {
  const portal = createServer((incoming, response) => {
    response.statusCode = incoming.method === "GET" ? 404 : 200;
    response.end("<html>");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => portal.once("listening", resolve));
  const url = `http://127.0.0.1:${(portal.address() as AddressInfo).port}`;
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(url) });
  expect(await errorOf(store.read("e"))).toMatchObject({ code: "STORE_MISSING" });
  portal.close();
});

test("no request goes out for an election that is no name of a Lease", async () => {
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url) });
  const before = server.requests.length;
  const calls = [
    () => store.read("Nightly"),
    () => store.acquire({ ...REQUEST, election: "Nightly" }),
    () => store.check({ election: "Nightly" }),
    () => store.inspect({ election: "Nightly" }),
    () => store.inspect({ election: 7 as never }),
    () => store.break("Nightly", { reason: "r" }),
  ];
  for (const call of calls) expect(await errorOf(call())).toMatchObject({ code: "CONFIGURATION" });
  expect(server.requests.slice(before)).toEqual([]);
});

test("an inspection that gets no answer ends after its time, and has written nothing", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(url) });
  const error = await errorOf(store.inspect({ election: "e", timeoutMs: 50 }));
  expect(error).toMatchObject({ code: "STORE_TIMEOUT", operation: "check", election: "e", mayHaveBeenApplied: false });
  silent.closeAllConnections();
  silent.close();
});

test("an answer may end a piece in the middle of a character", async () => {
  const lease = Buffer.from(
    JSON.stringify({ kind: "Lease", metadata: { name: "e", resourceVersion: "7" }, spec: { holderIdentity: "ä" } }),
  );
  const slow = createServer((_, response) => {
    const middle = lease.indexOf(Buffer.from("ä")) + 1;
    response.write(lease.subarray(0, middle), () => setTimeout(() => response.end(lease.subarray(middle)), 20));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => slow.once("listening", resolve));
  const access = podAccess(systemClock, { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" }, folder);
  const slowServer = new URL(`http://127.0.0.1:${(slow.address() as AddressInfo).port}`);
  const transport = new HttpTransport({ ...access, server: slowServer, credentials: () => Promise.resolve({ tls: {} }) });
  const answer = await transport.call({ method: "GET", path: LEASES }, AbortSignal.timeout(60_000));
  expect(answer["spec"]).toEqual({ holderIdentity: "ä" });
  slow.closeAllConnections();
  slow.close();
});

test("a watch that is refused says why", async () => {
  server.api.allows = (verb) => verb !== "watch";
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url) });
  const signal = AbortSignal.timeout(60_000);
  const error = await errorOf(Array.fromAsync(store.records.watch!("e", { signal })));
  server.api.allows = () => true;
  expect(error).toMatchObject({ code: "STORE_DENIED", operation: "watch", election: "e", mayHaveBeenApplied: false });
});

test("check names each right that is missing, and inspect the same", async () => {
  server.api.allows = (verb) => verb === "get" || verb === "patch" || verb === "review";
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url) });
  const { warnings } = await store.check({ election: "e" });
  const expected = [expect.stringContaining("may not create leases in default"), expect.stringContaining("may not watch leases")];
  expect([warnings, await store.inspect({ election: "e" })]).toEqual([expected, expected]);
  server.api.allows = (verb) => verb !== "review";
  expect((await store.check({ election: "e" })).warnings).toEqual([]);
  server.api.allows = (verb) => verb !== "patch";
  expect(await errorOf(store.check({ election: "e" }))).toMatchObject({ code: "STORE_DENIED" });
  server.api.allows = () => true;
});

test("with Go candidates a pause and a transfer are refused before any request, and the capabilities say so", async () => {
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url), goCandidates: true });
  expect(store.capabilities).toMatchObject({ pause: false, transfer: undefined, repair: true, fence: "none", watch: "push" });
  const before = server.requests.length;
  for (const call of [store.pause("e", { reason: "r" }), store.transfer("e", "b", {})]) {
    expect(await errorOf(call)).toMatchObject({ code: "UNSUPPORTED" });
  }
  expect(server.requests.length).toBe(before);
});

test("a token that has expired is read again from its file", async () => {
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, "first\n");
  server.api.tokens = new Set(["first"]);
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url, {}, { tokenFile }) });
  await store.read("e");
  await writeFile(tokenFile, "second\n");
  server.api.tokens = new Set(["second"]);
  expect(await errorOf(store.read("e"))).toMatchObject({ code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false });
  await store.read("e");
  await rm(tokenFile);
  server.api.tokens = new Set(["third"]);
  await errorOf(store.read("e"));
  const error = await errorOf(store.read("e"));
  server.api.tokens = undefined;
  expect(error.message).toContain(`the file ${tokenFile} cannot be read (ENOENT)`);
});

test("an exec plugin is asked once until its token expires, or is refused", async () => {
  const file = join(folder, "plugin.json");
  const log = join(folder, "plugin.log");
  const print = async (token: string): Promise<void> => {
    const status = { token, expirationTimestamp: "2999-01-01T00:00:00Z" };
    await writeFile(file, JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status }));
  };
  const script = `require("fs").appendFileSync(${JSON.stringify(log)}, process.env.WHO + JSON.parse(process.env.KUBERNETES_EXEC_INFO).kind + ";");
    process.stdout.write(require("fs").readFileSync(${JSON.stringify(file)}))`;
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: ["-e", script],
    env: [{ name: "WHO", value: "me " }],
  };
  server.api.tokens = new Set(["first"]);
  await print("first");
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url, {}, { exec }) });
  await Promise.all([store.read("e"), store.read("f")]);
  expect(await readFile(log, "utf8")).toBe("me ExecCredential;");
  server.api.tokens = new Set(["second"]);
  await print("second");
  expect(await errorOf(store.read("e"))).toMatchObject({ code: "STORE_UNAUTHENTICATED" });
  await store.read("e");
  await writeFile(file, "s3cret");
  server.api.tokens = new Set(["third"]);
  await errorOf(store.read("e"));
  const error = await errorOf(store.read("e"));
  server.api.tokens = undefined;
  expect(error.message).toContain("has printed no credentials");
  expect(error.message).not.toContain("s3cret");
});

test("the KubeConfig of @kubernetes/client-node is asked before each request", async () => {
  let token = 0;
  server.api.tokens = new Set(["token-1", "token-2"]);
  const kubeConfig = {
    getCurrentCluster: () => ({ server: server.url }),
    getCurrentContext: () => "here",
    getContextObject: () => ({ namespace: "default" }),
    async applyToHTTPSOptions(options: { headers?: object }) {
      options.headers = { Authorization: `Bearer token-${(token += 1)}` };
    },
  };
  const store = new KubernetesLeaseStore({ kubeConfig });
  await store.read("e");
  await store.read("e");
  server.api.tokens = undefined;
  expect(token).toBe(2);
});

const noOpenssl = await isMissing(opensslMissing());

describe.skipIf(noOpenssl)("over TLS", () => {
  let made: Certificates;
  let tls: KubernetesServer;
  beforeAll(async () => {
    made = await makeCertificates(folder);
    const [cert, key, ca] = await Promise.all([made.server.cert, made.server.key, made.ca].map((file) => readFile(file)));
    tls = await startKubernetes(["default"], { cert, key, ca, requestCert: true, rejectUnauthorized: false });
  });
  afterAll(() => tls?.[Symbol.asyncDispose]());

  test("the authority of the kubeconfig is trusted, and no other", async () => {
    const cluster = { "certificate-authority": made.ca };
    const trusting = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(tls.url, cluster) });
    expect(await trusting.read("e")).toBe(undefined);
    const other = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(tls.url) });
    expect(await errorOf(other.acquire(REQUEST))).toMatchObject({ code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false });
  });

  test("a client's certificate is sent", async () => {
    const data = async (file: string): Promise<string> => (await readFile(file)).toString("base64");
    const cluster = { "certificate-authority-data": await data(made.ca) };
    const user = { "client-certificate-data": await data(made.named.cert), "client-key-data": await data(made.named.key) };
    const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(tls.url, cluster, user) });
    await store.read("e");
    expect(tls.clients.at(-1)).toBe("client");
  });

  test("a pod's service account gives the address, the authority, the token and the namespace", async () => {
    const { port } = new URL(tls.url);
    await writeFile(join(folder, "ca.crt"), await readFile(made.ca));
    await writeFile(join(folder, "token"), "of the pod");
    await writeFile(join(folder, "namespace"), "default");
    const access = podAccess(systemClock, { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: port }, folder);
    expect(access.namespace).toBe("default");
    const answer = await new HttpTransport(access).call({ method: "GET", path: LEASES }, AbortSignal.timeout(60_000));
    expect([answer["kind"], tls.requests.at(-1)?.token]).toEqual(["LeaseList", "of the pod"]);
  });
});
