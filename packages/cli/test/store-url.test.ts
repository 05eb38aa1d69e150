import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Firestore } from "@google-cloud/firestore";
import { MemoryLeaseStore } from "@leasehold/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { checkStoreUrl, openStoreUrl, storeFromUrl, usedStoreFromUrl } from "../src/store-url/store-from-url.ts";
import { parseStoreUrl } from "../src/store-url/store-url.ts";

const PLACE = {
  env: {
    AZURE: "AccountName=acc;AccountKey=a2V5;EndpointSuffix=core.windows.net;DefaultEndpointsProtocol=https",
    LEASEHOLD_VOTING_SECRET: "what the servers sign by",
  },
  workingDirectory: "/",
};

test.for([
  ["sqlite:///tmp/leasehold-never-written.db", "sqlite"],
  ["postgres://me:p%40ss@127.0.0.1:1/db?sslmode=disable", "postgres"],
  ["mysql://me:p%40ss@127.0.0.1:1/db", "mysql"],
  ["dynamodb://Table_1.x?region=eu-west-1&endpoint=http://127.0.0.1:1", "dynamodb"],
  ["firestore://project/leases?database=other&endpoint=http://127.0.0.1:1", "firestore"],
  ["etcd://127.0.0.1", "etcd"],
  ["etcd://me:p%40ss@127.0.0.1:1,[::1]:1?prefix=/services/", "etcd"],
  ["etcds://127.0.0.1", "etcd"],
  ["redis://127.0.0.1", "redis"],
  ["redis://me:p%40ss@127.0.0.1:1/2?prefix=team:", "redis"],
  ["rediss://[::1]:1", "redis"],
  ["s3://acme-leases?region=eu-west-1", "s3"],
  ["s3://acme-leases/team?endpoint=http://127.0.0.1:1&region=auto", "s3"],
  ["gs://acme_leases/team/", "gcs"],
  ["azure-blob://acc/container", "azure-blob"],
  ["azure-blob://acc/container?endpoint=https://acc.blob.core.chinacloudapi.cn", "azure-blob"],
  ["azure-blob://acc/container?connection-string-env=AZURE", "azure-blob"],
] as const)("%s opens a store of %s, and sends no request", async ([url, name]) => {
  await using store = await openStoreUrl(url, PLACE);
  expect(store.name).toBe(name);
});

test("a folder is no SQLite file, and nothing is looked for beside it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-store-url-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await expect(usedStoreFromUrl(`sqlite://${folder}`)).rejects.toMatchObject({
    exitCode: 78,
    message: `there is no SQLite file ${folder}; is that its path? run, serve and migrate make it.`,
  });
});

test("opening a used store creates no SQLite file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-store-url-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const url = `sqlite://${folder}/app.db`;
  await expect(usedStoreFromUrl(url)).rejects.toMatchObject({
    exitCode: 78,
    message: expect.stringContaining("there is no SQLite"),
  });
  expect(readdirSync(folder)).toEqual([]);
  writeFileSync(join(folder, "app.db"), "");
  await expect(usedStoreFromUrl(url)).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringContaining("nobody has ever led"),
  });
  expect(readdirSync(folder)).toEqual(["app.db"]);
  {
    await using made = await storeFromUrl(url);
    await made.check({ election: "e" });
  }
  symlinkSync(join(folder, "app.db"), join(folder, "link.db"));
  await using used = await usedStoreFromUrl(`sqlite://${folder}/link.db`);
  expect(await used.read("e")).toBe(undefined);
});

test.for([
  ["etcd://127.0.0.1,[::1],127.0.0.2:1", ["http://127.0.0.1:2379", "http://[::1]:2379", "http://127.0.0.2:1"]],
  ["etcds://127.0.0.1,127.0.0.2:1", ["https://127.0.0.1:2379", "https://127.0.0.2:1"]],
  ["voting://127.0.0.1:1,127.0.0.2:2", ["http://127.0.0.1:1", "http://127.0.0.2:2"]],
  ["votings://127.0.0.1:1,127.0.0.2:2", ["https://127.0.0.1:1", "https://127.0.0.2:2"]],
] as const)("%s sends its requests to %s", async ([url, origins]) => {
  const asked: string[] = [];
  for (const [protocol, client] of [["http:", http] as const, ["https:", https] as const]) {
    vi.spyOn(client, "request").mockImplementation((to: unknown) => {
      const { host, protocol: named } = to as URL;
      expect(named).toBe(protocol);
      asked.push(`${protocol}//${host}`);
      throw Object.assign(new Error("nobody is there"), { code: "ECONNREFUSED" });
    });
  }
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  await using store = await openStoreUrl(url, PLACE);
  await expect(store.read("e", { timeoutMs: 1_000 })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(asked.toSorted()).toEqual(origins.toSorted());
});

test.for([
  ["firestore://project/leases?database=other", "projects/project/databases/other"],
  ["firestore://project/leases", "projects/project/databases/(default)"],
] as const)("%s opens %s, and closes it", async ([url, database]) => {
  const terminate = vi.spyOn(Firestore.prototype, "terminate");
  onTestFinished(() => terminate.mockRestore());
  await using store = await openStoreUrl(url, PLACE);
  await store[Symbol.asyncDispose]();
  expect(terminate.mock.contexts).toEqual([expect.objectContaining({ formattedName: database })]);
});

test("the endpoint of a URL gets the requests in place of Google", async () => {
  const server = createServer((socket) => void socket.destroy()).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  const asked = once(server, "connection");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using store = await openStoreUrl(`firestore://project/leases?endpoint=http://127.0.0.1:${port}`, PLACE);
  await expect(store.read("e", { timeoutMs: 20_000 })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await asked;
});

test("a URL is parsed and decoded into the options of a package", () => {
  expect(parseStoreUrl("etcds://m%40e:p%3Aa:ss@one,two:2?prefix=/a%20b/&ca=x=y")).toEqual({
    text: "etcds://m%40e:p%3Aa:ss@one,two:2?prefix=/a%20b/&ca=x=y",
    scheme: "etcds",
    user: "m@e",
    password: "p:a:ss",
    authority: "one,two:2",
    path: "",
    file: "/",
    parameters: new Map([
      ["prefix", "/a b/"],
      ["ca", "x=y"],
    ]),
  });
  expect(parseStoreUrl("etcd://me@one/a%2Fb/c")).toMatchObject({
    user: "me",
    password: undefined,
    authority: "one",
    path: "a/b/c",
    file: "/a/b/c",
  });
  expect(parseStoreUrl("etcd://@one")).toMatchObject({ user: "", password: undefined, authority: "one" });
  expect(parseStoreUrl("etcd://one")).toMatchObject({ user: undefined, password: undefined, authority: "one", path: "" });
});

test.for([
  [
    "nonsense",
    "the store's URL has no scheme; there are azure-blob, dynamodb, firestore, etcd, etcds, kubernetes, redis, rediss, s3, gs, sqlite, postgres, postgresql, mysql, voting, votings, quorum.",
  ],
  ["zookeeper://host:2181", "no store has the scheme 'zookeeper:'; there are azure-blob, dynamodb,"],
  ["constructor://x", "no store has the scheme 'constructor:'"],
  ["sqlite:app.db", "the store's URL has no // after 'sqlite:'."],
  ["sqlite://app.db", "a URL of sqlite: has three slashes and an absolute path"],
  ["sqlite:///", "a URL of sqlite: has three slashes and an absolute path"],
  ["sqlite:///a.db?mode=ro", "a URL of sqlite: has no parameter 'mode'; there are table."],
  ["dynamodb://", "a URL of dynamodb: names a table"],
  ["dynamodb://table/other", "a URL of dynamodb: names a table"],
  ["dynamodb://table?regoin=x", "a URL of dynamodb: has no parameter 'regoin'; there are region, endpoint."],
  ["dynamodb://table?region=a&region=b", "the store's URL (dynamodb) has the parameter 'region' twice."],
  ["dynamodb://table?region=a&%72egion=b", "the store's URL (dynamodb) has the parameter 'region' twice."],
  ["firestore://project", "a URL of firestore: names a project and a collection"],
  ["firestore://project/leases?endpoint=127.0.0.1:8080", "endpoint is the URL of a server"],
  ["etcd://host:2379/services", "a URL of etcd: names hosts, and no path"],
  ["etcd://one,,two", "a URL of etcd: names hosts, and no path"],
  ["etcd://host?ca=/ca.pem", "a URL of etcd: has no parameter 'ca'; there are prefix."],
  ["kubernetes://jobs/billing", "a URL of kubernetes: names a namespace, and nothing behind it: kubernetes://NAMESPACE."],
  ["kubernetes://jobs?go-candidates=yes", "go-candidates is 'true', or left out."],
  ["redis://one,two", "a URL of redis: names one host, and the number of a database or none: redis://HOST:6379/0."],
  ["rediss://host/leases", "a URL of rediss: names one host, and the number of a database or none"],
  ["redis://host?prefx=a", "a URL of redis: has no parameter 'prefx'; there are prefix."],
  ["s3:///prefix", "a URL of s3: names a bucket"],
  ["s3://LEASES", 'bucket is "LEASES"; it must have'],
  ["s3://me:pa55@leases", "url has a user, a password or a port."],
  ["gs://leases?region=eu", "a URL of gs: has no parameter 'region'; there are endpoint."],
  ["s3://leases?endpoint=127.0.0.1:9000", "endpoint is not a URL"],
  ["azure-blob://acc", "a URL of azure-blob: names an account and a container"],
  ["azure-blob://acc/a/b", "a URL of azure-blob: names an account and a container"],
  ["azure-blob://acc/c?endpoint=https://x&connection-string-env=Y", "has endpoint or connection-string-env, and not both."],
  ["quorum://members.json", "a URL of quorum: has three slashes and the absolute path of a file"],
  ["voting://a:7400,b", "a URL of voting: names every server with its port, and no path: voting://HOST:7400,"],
  ["voting://a:7400/secret", "a URL of voting: names every server with its port, and no path"],
  ["voting://me:pa55@a:7400", "a URL of voting: has no password: put the secret into LEASEHOLD_VOTING_SECRET."],
  ["quorum:///members.json?a=b", "a URL of quorum: has no parameter 'a'; it has none."],
  ["postgres:///db", "a URL of postgres: names a host and a database"],
  ["postgres://one,two/db", "a URL of postgres: names one host, the primary; this one names several."],
  ["mysql://me:pa55/word@host/db", "the store's URL cannot be read."],
  ["mysql://me:pa55?word@host/db", "the store's URL cannot be read."],
  ["mysql://me:pa55#word@host/db", "the store's URL cannot be read."],
  ["mysql://me:pa55%zz@host/db", "the store's URL has a % that is not followed by two hexadecimal digits"],
] as const)("%s is refused before any request", async ([url, message]) => {
  const refusal = openStoreUrl(url, PLACE);
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.not.toThrow("pa55");
});

test("a URL of no store, or one that cannot be read, is refused before any package is loaded", () => {
  expect(() => checkStoreUrl("zookeeper://host:2181")).toThrow("no store has the scheme 'zookeeper:'");
  expect(() => checkStoreUrl("sqlite:app.db")).toThrow("the store's URL has no // after 'sqlite:'.");
});

test.for([
  ["azure-blob://acc/container?connection-string-env=NOT_SET", "names the variable NOT_SET, which is not set"],
  [
    "azure-blob://other/container?connection-string-env=AZURE",
    "names the account other, and the connection string in AZURE is for acc",
  ],
  ["dynamodb://t?region=eu-west-1", "tableName"],
  ["etcd://me@host", "password is missing"],
  ["etcds://host?ca=/nowhere/ca.pem", "ca names the file /nowhere/ca.pem, which cannot be read (ENOENT)."],
] as const)("%s is refused by what the environment or its package says", async ([url, message]) => {
  await expect(openStoreUrl(url, PLACE)).rejects.toThrow(message);
});

test("a password is for a variable or a file, and never for an argument", () => {
  for (const url of [
    "mysql://me:pa55@host/db",
    "etcd://me:pa55@host",
    "postgres://me:pa55@host/db",
    "postgres://host/db?password=pa55",
  ]) {
    expect(checkStoreUrl(url)).toBe(url);
    expect(() => checkStoreUrl(url, { isArgument: true })).toThrow(/^the store's URL has a password/);
  }
  expect(checkStoreUrl("mysql://me@host/db", { isArgument: true })).toBe("mysql://me@host/db");
});

test("memory: is for programs, a store of its own each time", async () => {
  await using one = await storeFromUrl("memory:");
  await using other = await storeFromUrl("memory:");
  expect(one).toBeInstanceOf(MemoryLeaseStore);
  expect(one).not.toBe(other);
  expect(() => checkStoreUrl("memory:")).toThrow("is for programs");
});
