import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { inspect } from "node:util";
import { AnonymousCredential, StorageSharedKeyCredential } from "@azure/storage-blob";
import { S3Client } from "@aws-sdk/client-s3";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Firestore } from "@google-cloud/firestore";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { isLeaseholdError, type LeaseStore } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { RedisLeaseStore } from "@leasehold/redis";
import { SqlLeaseStore } from "@leasehold/sql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

// None of its words has a meaning, so that none appears by chance. It has every character that ends a part of a URL.
const SECRET = "Zq4711/xK#9w?vR";
/** The same, for cases in which a slash would be another mistake. */
const PLAIN = "Zq4711xK9wvR";
const BASE64 = Buffer.from(PLAIN).toString("base64");
const TIMEOUT_MS = 2_000;

/** Answers every request with a refusal that repeats the whole request, as a proxy or a debugging service may do. */
let echo: Server;
let echoUrl: string;
let folder: string;
/** A port on which no process listens. */
let closedPort: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasehold-secrets-"));
  echo = createServer((request, response) => void refuse(request, response));
  echoUrl = `http://127.0.0.1:${await listening(echo)}`;
  const closed = createServer();
  closedPort = await listening(closed);
  await new Promise((resolve) => closed.close(resolve));
});

afterAll(async () => {
  echo.closeAllConnections();
  await new Promise((resolve) => echo.close(resolve));
  await rm(folder, { recursive: true });
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function refuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${String(value)}`);
  const all = `${request.url} ${headers.join("; ")} ${await textOf(request)}`;
  const isEtcd = request.url?.startsWith("/v3/") === true;
  const isDynamoDB = request.headers["x-amz-target"] !== undefined;
  response.writeHead(403, {
    "Content-Type": isDynamoDB ? "application/x-amz-json-1.0" : isEtcd ? "application/json" : "application/xml",
    "x-amzn-RequestId": "A1",
    "x-amz-request-id": "A1",
    "x-ms-request-id": "A1",
    "x-ms-error-code": "AuthenticationFailed",
  });
  if (isEtcd) return void response.end(JSON.stringify({ code: 16, message: `Not valid: ${all}`, error: `Not valid: ${all}` }));
  response.end(
    isDynamoDB
      ? JSON.stringify({ __type: "com.amazon.coral.service#IncompleteSignatureException", message: `Not valid: ${all}` })
      : `<?xml version="1.0"?><Error><Code>AuthenticationFailed</Code><Message>Not valid: ${all}</Message></Error>`,
  );
}

/** Makes a store that cannot work, with a secret in its settings. Some are refused at once. */
type Bad = () => LeaseStore;

const BAD: Readonly<Record<string, Bad>> = {
  "mysql: a password that ends the host": () => new SqlLeaseStore({ mysql: `mysql://user:${SECRET}@127.0.0.1/db` }),
  "mysql: a password that begins like a port": () => new SqlLeaseStore({ mysql: `mysql://user:${closedPort}/${SECRET}@h/db` }),
  "mysql: a password with a hash": () => new SqlLeaseStore({ mysql: `mysql://user:12#${SECRET}@127.0.0.1/db` }),
  "mysql: a password with a percent sign": () => new SqlLeaseStore({ mysql: `mysql://user:${PLAIN}%zz@127.0.0.1/db` }),
  "mysql: an option that is none": () => new SqlLeaseStore({ mysql: `mysql://user:${PLAIN}@127.0.0.1/db?ssl=none-such` }),
  "mysql: no URL": () => new SqlLeaseStore({ mysql: `user:${SECRET}@127.0.0.1/db` }),
  "mysql: nobody listens": () => new SqlLeaseStore({ mysql: `mysql://user:${PLAIN}@127.0.0.1:${closedPort}/db` }),
  "mysql: the settings of a pool": () => new SqlLeaseStore({ mysql: { host: "127.0.0.1", password: SECRET } as never }),
  "postgres: a password that ends the host": () => new SqlLeaseStore({ postgres: `postgres://user:${SECRET}@127.0.0.1/db` }),
  "postgres: a password that begins like a port": () =>
    new SqlLeaseStore({ postgres: `postgres://user:${closedPort}/${SECRET}@h/db` }),
  "postgres: a password with a percent sign": () => new SqlLeaseStore({ postgres: `postgres://u:${PLAIN}%zz@127.0.0.1/db` }),
  "postgres: no URL": () => new SqlLeaseStore({ postgres: `user:${SECRET}@127.0.0.1/db` }),
  "postgres: nobody listens": () => new SqlLeaseStore({ postgres: `postgres://user:${PLAIN}@127.0.0.1:${closedPort}/db` }),
  "postgres: the settings of a pool": () => new SqlLeaseStore({ postgres: { host: "127.0.0.1", password: SECRET } as never }),
  "sqlite: another database's URL": () => new SqlLeaseStore({ sqlite: `postgres://user:${SECRET}@127.0.0.1/db` }),
  "azure: a connection string that is none": () =>
    new BlobLeaseStore({ connectionString: `AccountName=acme;AccountKey=${SECRET}`, containerName: "leases" }),
  "azure: a connection string as the container": () =>
    new BlobLeaseStore({
      accountUrl: echoUrl,
      containerName: `DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=${SECRET}`,
    }),
  "azure: a key as the credential": () =>
    new BlobLeaseStore({ accountUrl: echoUrl, containerName: "leases", credential: SECRET as never }),
  "azure: a key that is refused": () =>
    new BlobLeaseStore({
      accountUrl: `${echoUrl}/acme`,
      containerName: "leases",
      credential: new StorageSharedKeyCredential("acme", BASE64),
    }),
  "azure: a token that is refused": () =>
    new BlobLeaseStore({
      connectionString: `BlobEndpoint=${echoUrl}/acme;SharedAccessSignature=sv=2024-11-04&sig=${PLAIN}`,
      containerName: "leases",
    }),
  "azure: nobody listens": () =>
    new BlobLeaseStore({
      accountUrl: `http://127.0.0.1:${closedPort}/acme?sig=${PLAIN}`,
      containerName: "leases",
      credential: new AnonymousCredential(),
    }),
  "azure: no token can be had": () =>
    new BlobLeaseStore({
      accountUrl: "https://acme.blob.core.windows.net",
      containerName: "leases",
      credential: { getToken: () => Promise.reject(new Error(`client_secret=${SECRET} is refused`)) },
    }),
  "dynamodb: a session token that is refused": () => new DynamoDBLeaseStore({ client: dynamo(), tableName: "leases" }),
  "dynamodb: nobody listens": () =>
    new DynamoDBLeaseStore({ client: dynamo(`http://127.0.0.1:${closedPort}`), tableName: "leases" }),
  "dynamodb: no credentials can be had": () =>
    new DynamoDBLeaseStore({
      client: new DynamoDBClient({
        endpoint: echoUrl,
        region: "eu-central-1",
        credentials: () => Promise.reject(new Error(`cannot parse aws_secret_access_key = ${SECRET}`)),
      }),
      tableName: "leases",
    }),
  "s3: a session token that is refused": () => objects(),
  "s3: nobody listens": () => objects(`http://127.0.0.1:${closedPort}`),
  "s3: a key in the URL": () => new ObjectStorageLeaseStore({ url: `s3://key:${SECRET}@leases` }),
  "s3: a key that begins like a port": () => new ObjectStorageLeaseStore({ url: `s3://key:${closedPort}/${SECRET}@leases` }),
  "etcd: a password that is refused": () => new EtcdLeaseStore({ endpoints: echoUrl, user: "worker", password: SECRET }),
  "etcd: a password in the URL": () => new EtcdLeaseStore({ endpoints: `http://worker:${PLAIN}@127.0.0.1:2379` }),
  "etcd: a password that ends the host": () => new EtcdLeaseStore({ endpoints: `http://worker:${SECRET}@127.0.0.1:2379` }),
  "etcd: a key that is none": () =>
    new EtcdLeaseStore({ endpoints: "https://127.0.0.1:2379", tls: { cert: "a certificate", key: SECRET } }),
  "etcd: nobody listens": () =>
    new EtcdLeaseStore({ endpoints: `http://127.0.0.1:${closedPort}`, user: "worker", password: SECRET }),
  "kubernetes: a token that is refused": () =>
    new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(echoUrl, {}, { token: SECRET }) }),
  "redis: a password in the URL": () => new RedisLeaseStore({ url: `redis://worker:${PLAIN}@127.0.0.1:${closedPort}` }),
  "redis: a password that ends the host": () => new RedisLeaseStore({ url: `redis://worker:${SECRET}@127.0.0.1:6379` }),
  "firestore: a key that is none": () =>
    firestore({ projectId: "acme", credentials: { client_email: "a@acme.example", private_key: SECRET } }),
  "firestore: a key file that is none": () => firestore({ projectId: "acme", keyFilename: join(folder, "key.json") }),
};

function objects(endpoint = echoUrl): LeaseStore {
  const credentials = { accessKeyId: PLAIN, secretAccessKey: SECRET, sessionToken: SECRET };
  const client = new S3Client({ endpoint, region: "eu-central-1", credentials, forcePathStyle: true });
  return new ObjectStorageLeaseStore({ client, bucket: "leases" });
}

function dynamo(endpoint = echoUrl): DynamoDBClient {
  const credentials = { accessKeyId: PLAIN, secretAccessKey: SECRET, sessionToken: SECRET };
  return new DynamoDBClient({ endpoint, region: "eu-central-1", credentials });
}

function firestore(settings: object): LeaseStore {
  return new FirestoreLeaseStore({ firestore: new Firestore(settings) });
}

/** Every call of a store, if the store has it. */
const CALLS: Readonly<Record<string, (store: LeaseStore) => Promise<unknown> | undefined>> = {
  read: (store) => store.read("e", { timeoutMs: TIMEOUT_MS }),
  acquire: (store) => store.acquire(ASKING),
  break: (store) => store.break("e", { reason: "test", timeoutMs: TIMEOUT_MS }),
  transfer: (store) => store.transfer("e", "b", { timeoutMs: TIMEOUT_MS }),
  watch: (store) => firstPush(store),
  "read an occurrence": (store) => occurrences(store)?.read("1", { timeoutMs: TIMEOUT_MS }),
  "acquire an occurrence": (store) => occurrences(store)?.acquire({ ...ASKING, election: "1" }),
  migrate: (store) => (store as Partial<SqlLeaseStore>).migrate?.(),
  createTable: (store) => (store as Partial<DynamoDBLeaseStore>).createTable?.(),
  close: (store) => (store as Partial<SqlLeaseStore>).close?.(),
};
const ASKING = { election: "e", candidateId: "a", leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: TIMEOUT_MS };

async function firstPush(store: LeaseStore): Promise<void> {
  for await (const _ of store.watch?.("e", { signal: AbortSignal.timeout(TIMEOUT_MS) }) ?? []) return;
}

function occurrences(store: LeaseStore): LeaseStore | undefined {
  return store.occurrences?.("e", { retentionMs: 60_000 });
}

/**
 * Everything that a person sees who prints the error: the error with its contents, and every own property of it and of its
 * causes.
 */
function shown(error: unknown): string {
  const parts = [inspect(error, { depth: 20, showHidden: true, getters: true }), String(error), JSON.stringify(error)];
  for (let one = error as Error | undefined; typeof one === "object" && one !== null; one = one.cause as Error | undefined) {
    for (const name of Reflect.ownKeys(one)) parts.push(`${String(name)}: ${inspect((one as never)[name], { depth: 20 })}`);
  }
  return parts.join("\n");
}

/** Expects no piece of a secret that is long enough to be one, plain or encoded. */
function expectNothingSecret(error: unknown): void {
  const text = shown(error);
  for (const secret of ["Zq4711", "xK#9w", "xK%239w", "9w?vR", PLAIN, encodeURIComponent(SECRET), BASE64]) {
    expect(text).not.toContain(secret);
  }
}

describe("no error shows a secret", () => {
  test.for(Object.entries(BAD))("%s", async ([, make]) => {
    // Google's client repeats a text that it cannot read. The first words of a key file may be the key.
    await writeFile(join(folder, "key.json"), SECRET);
    let store: LeaseStore;
    try {
      store = make();
    } catch (error) {
      expect(isLeaseholdError(error, "CONFIGURATION")).toBe(true);
      expectNothingSecret(error);
      return;
    }
    for (const [name, call] of Object.entries(CALLS)) {
      const answer = call(store);
      if (answer === undefined) continue;
      const error = await answer.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      // Only an open connection needs a close, so `close` does not fail. A watch may keep trying for as long as it is wanted.
      if (name === "close") expect(error).toBeUndefined();
      else if (name !== "watch") expect(isLeaseholdError(error), `${name} fails as it should: ${String(error)}`).toBe(true);
      expectNothingSecret(error);
    }
  });
});
