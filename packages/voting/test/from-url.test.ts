/** The servers by a URL. The tests of the cli open real ones. */
import { expect, test, vi } from "vitest";
import type { StoreUrl, StoreUrlContext } from "@leasehold/core/provider";
import { fromUrl, VotingObserver } from "@leasehold/voting";

const SECRET = { LEASEHOLD_VOTING_SECRET: "a secret of servers" };

function urlOf(scheme: string, changed: Partial<StoreUrl> = {}, parameters: Readonly<Record<string, string>> = {}): StoreUrl {
  const nothing = { text: "", user: undefined, password: undefined, path: "", file: "" };
  const authority = "a=127.0.0.1:7400,b=10.0.0.2:7400";
  return { ...nothing, scheme, authority, parameters: new Map(Object.entries(parameters)), ...changed };
}

async function opened(url: StoreUrl, context: Partial<StoreUrlContext>): Promise<unknown> {
  const readFile = (): Promise<undefined> => Promise.resolve(undefined);
  const openStore = (): Promise<never> => Promise.reject(new Error("no member"));
  return await fromUrl[url.scheme]!.open(url, { env: SECRET, readFile, openStore, ...context });
}

test.each([
  ["a user", { user: "me" }, {}, "a URL of voting: has no password: put the secret into LEASEHOLD_VOTING_SECRET."],
  ["a password", { password: "hush" }, {}, "a URL of voting: has no password"],
  ["a path", { path: "votes" }, {}, "names every server with its port, and no path"],
  ["a server without a port", { authority: "a=10.0.0.1:7400,b=10.0.0.2" }, {}, "names every server with its port"],
  ["a server without a directory", {}, { server: "a" }, "with 'server', the name of this server, has 'state' as well"],
  ["a directory without a server", {}, { state: "/votes" }, "with 'server', the name of this server, has 'state' as well"],
])("a URL with %s is refused, and its message repeats nothing of it", (_, changed, parameters, message) => {
  const check = (): void => fromUrl["voting"]!.check(urlOf("voting", changed, parameters));
  expect(check).toThrow(message);
  expect(check).not.toThrow(/hush|10\.0\.0/);
});

test("a URL of servers, alone or with the name and the directory of this one, is accepted", () => {
  expect(() => fromUrl["voting"]!.check(urlOf("voting"))).not.toThrow();
  expect(() => fromUrl["votings"]!.check(urlOf("votings", {}, { server: "a", state: "/votes" }))).not.toThrow();
});

test.each([undefined, ""])("a URL with the secret %j in its variable is refused by the variable's name", async (secret) => {
  const opening = opened(urlOf("voting"), { env: { LEASEHOLD_VOTING_SECRET: secret } });
  await expect(opening).rejects.toThrow("LEASEHOLD_VOTING_SECRET is not set: it has the secret of the servers.");
});

test("an observer does not open if the file of its authority cannot be read, and opens otherwise", async () => {
  const readFile = (): Promise<never> => Promise.reject(new Error("ca.pem is unreadable"));
  await expect(opened(urlOf("votings", {}, { ca: "ca.pem" }), { readFile })).rejects.toThrow("ca.pem is unreadable");
  const observer = await opened(urlOf("votings"), {});
  expect(observer).toBeInstanceOf(VotingObserver);
  await (observer as VotingObserver).close();
});

test("a server reads its key, its certificate and the authority, and listens on the address that is given", async () => {
  // Each attempt fails before it makes the directory.
  const state = "/no-such-folder/a";
  const readFile = vi.fn<StoreUrlContext["readFile"]>((_, name) => Promise.resolve(`no ${name}`));
  const parameters = { server: "a", state, key: "key.pem", cert: "cert.pem" };
  await expect(opened(urlOf("votings", {}, parameters), { readFile })).rejects.toThrow("tls cannot be used");
  expect(readFile.mock.calls.map(([, name]) => name)).toEqual(["ca", "key", "cert", "ca"]);
  const onlyKey = { server: "a", state, key: "key.pem" };
  await expect(opened(urlOf("votings", {}, onlyKey), {})).rejects.toThrow("Addresses of https: need tls");
  await expect(opened(urlOf("voting", {}, { server: "a", state, listen: " " }), {})).rejects.toThrow("host must be an address");
});
