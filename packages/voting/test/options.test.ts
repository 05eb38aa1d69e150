/** Options that are refused before anything is opened or sent. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@leasehold/core/provider";
import { afterAll, expect, test } from "vitest";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { VotingLeaseStore, type VotingLeaseStoreOptions } from "@leasehold/voting";
import { resolveOptions } from "../src/options.ts";

const folder = await memoryFolder("leasehold-voting-options-");
afterAll(() => rm(folder, { recursive: true, force: true }));
const nowhere = join(folder, "nowhere");
const RIGHT: VotingLeaseStoreOptions = {
  server: "a",
  servers: { a: "http://127.0.0.1:7400", b: "http://10.0.0.2:7400", c: "http://10.0.0.3:7400" },
  secret: "a secret of servers",
  stateDirectory: join(nowhere, "at", "all"),
};
const eight = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`s${index}`, `http://10.0.0.${index}:7400`]));

test.each([
  ["a name that is not in the list", { server: "d" }, `server is "d", which is not in servers: there are a, b, c.`],
  ["a name that every object has", { server: "toString" }, "which is not in servers"],
  ["no servers", { servers: {} }, "servers has 0 entries; give one to seven"],
  ["eight servers", { servers: eight }, "servers has 8 entries; give one to seven"],
  ["a list", { servers: ["http://127.0.0.1:7400"] as never }, "servers must be an object"],
  ["no URL", { servers: { a: "127.0.0.1:7400" } }, "address of the server 'a' is not a URL of http: or https:"],
  ["another scheme", { servers: { a: "ftp://127.0.0.1:7400" } }, "is not a URL of http: or https:"],
  ["a path", { servers: { a: "http://127.0.0.1:7400/votes" } }, "has more in it than it may"],
  ["a password", { servers: { a: "http://me:hush@127.0.0.1:7400" } }, "has more in it than it may"],
  ["no port", { servers: { a: "http://127.0.0.1" } }, "address of the server 'a' has no port"],
  ["any port", { servers: { a: "http://127.0.0.1:0" } }, "address of the server 'a' has no port"],
  ["one address twice", { servers: { a: "http://127.0.0.1:1", b: "http://127.0.0.1:1/" } }, "'a' and 'b' have the same address"],
  ["two schemes", { servers: { a: "http://127.0.0.1:1", b: "https://127.0.0.1:2" } }, "addresses of http: and of https:"],
  ["no secret", { secret: undefined as never }, "secret is missing; give all servers the same one of at least 16"],
  ["a short secret", { secret: "hush hush" }, "secret has 9 characters"],
  ["no directory", { stateDirectory: "" }, "stateDirectory is missing"],
  ["https without a certificate", { servers: { a: "https://127.0.0.1:1" } }, "Addresses of https: need tls"],
  ["a certificate without https", { tls: { key: "k", cert: "c" } }, "tls needs addresses of https:"],
  ["no certificate", { servers: { a: "https://127.0.0.1:1" }, tls: { key: "k", cert: "c" } }, "tls cannot be used"],
  [
    "a mistyped option of TLS",
    { servers: { a: "https://127.0.0.1:1" }, tls: { key: "k", cert: "c", chain: "" } as never },
    "tls has no option 'chain'",
  ],
  ["a key alone", { servers: { a: "https://127.0.0.1:1" }, tls: { key: "k" } as never }, "tls needs key and cert"],
  ["a certificate alone", { servers: { a: "https://127.0.0.1:1" }, tls: { cert: "c" } as never }, "tls needs key and cert"],
  ["a host that is none", { host: "http://10.0.0.1" }, "host must be an address of this machine"],
  ["no host, and an address that is not loopback", { server: "b" }, "set host to 10.0.0.2, or to 0.0.0.0"],
  ["a mistyped option", { stateDir: "/x" } as never, "has no option 'stateDir'. Was 'stateDirectory' meant?"],
] satisfies ReadonlyArray<readonly [string, Partial<VotingLeaseStoreOptions>, string]>)("%s", async (_, wrong, message) => {
  const opened = VotingLeaseStore.open({ ...RIGHT, ...wrong });
  await expect(opened).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining(message) });
  await expect(opened).rejects.not.toThrow("hush");
  expect(existsSync(nowhere)).toBe(false);
});

test("without host, a server listens on loopback only", () => {
  expect(resolveOptions(RIGHT).listen.host).toBe("127.0.0.1");
  expect(resolveOptions({ ...RIGHT, servers: { a: "http://localhost:80" } }).listen).toMatchObject({
    host: "localhost",
    port: 80,
  });
  expect(resolveOptions({ ...RIGHT, servers: { a: "http://[::1]:7400" } }).listen.host).toBe("::1");
  const readsTls = { tls: () => ({ key: "k", cert: "c" }) };
  expect(resolveOptions({ ...RIGHT, servers: { a: "https://127.0.0.1:443" }, ...readsTls }).listen.port).toBe(443);
  expect(resolveOptions({ ...RIGHT, server: "b", host: "0.0.0.0" }).listen).toMatchObject({ host: "0.0.0.0", port: 7400 });
});

test.each([
  ["search", "http://127.0.0.1:7400/?x"],
  ["hash", "http://127.0.0.1:7400/#x"],
  ["user", "http://me@127.0.0.1:7400"],
])("an address with a %s has more in it than it may", (_, address) => {
  expect(() => resolveOptions({ ...RIGHT, servers: { a: address } })).toThrow("has more in it than it may");
});

test.each(["", " ", "10.0.0.1 ", "10.0.0.1/24", 5 as never])("%j is not a host to listen on", (host) => {
  expect(() => resolveOptions({ ...RIGHT, host })).toThrow("host must be an address of this machine");
});

test.each([undefined, null, "a", 5])("%j is not a list of servers, and not a directory", (given) => {
  expect(() => resolveOptions({ ...RIGHT, servers: given as never })).toThrow("servers must be an object");
  if (given !== "a")
    expect(() => resolveOptions({ ...RIGHT, stateDirectory: given as never })).toThrow("stateDirectory is missing");
});

test("options at their limits are accepted unchanged", () => {
  const seven = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`s${index}`, `http://127.0.0.1:${7_400 + index}`]));
  const resolved = resolveOptions({ ...RIGHT, server: "s3", servers: seven, secret: "x".repeat(16) });
  expect(Object.keys(resolved.servers)).toEqual(Object.keys(seven));
  expect(resolved.servers["s3"]).toEqual(new URL("http://127.0.0.1:7403"));
  expect(resolved).toMatchObject({
    server: "s3",
    secret: "x".repeat(16),
    stateDirectory: join(nowhere, "at", "all"),
    listen: { host: "127.0.0.1", port: 7_403 },
    readTls: undefined,
    clock: systemClock,
  });
  expect(() => resolveOptions({ ...RIGHT, secret: "x".repeat(15) })).toThrow("secret has 15 characters");
  expect(resolveOptions({ ...RIGHT, server: "a", servers: { a: "http://127.1.2.3:1" } }).listen.host).toBe("127.1.2.3");
  expect(() => resolveOptions({ ...RIGHT, servers: { a: "http://128.0.0.1:1" } })).toThrow("set host to 128.0.0.1");
  expect(() => resolveOptions({ ...RIGHT, servers: { a: "http://127.example:1" } })).toThrow(
    "set host to the address of this machine",
  );
});
