import type { StoreUrl } from "@leasehold/core/provider";
import { storeUrl } from "@leasehold/test-kit/stores/store-url";
import { expect, test } from "vitest";
import { fromUrl, urlOptions } from "../src/from-url.ts";

const AZURE = "AccountName=acc;AccountKey=a2V5;EndpointSuffix=core.windows.net;DefaultEndpointsProtocol=https";

function url(parameters: Readonly<Record<string, string>>, authority = "acc"): StoreUrl {
  const path = "leases";
  const rest = { text: "", scheme: "azure-blob", user: undefined, password: undefined, file: `/${path}` };
  return { ...rest, authority, path, parameters: new Map(Object.entries(parameters)) };
}

test.for([
  [{}, { accountUrl: "https://acc.blob.core.windows.net" }],
  [{ endpoint: "https://acc.blob.core.chinacloudapi.cn" }, { accountUrl: "https://acc.blob.core.chinacloudapi.cn" }],
  [{ "connection-string-env": "AZURE" }, { connectionString: AZURE }],
] as const)("a URL with the parameters %j names the container of that account", ([parameters, account]) => {
  expect(urlOptions(url(parameters), { env: { AZURE } })).toEqual({ ...account, containerName: "leases" });
});

test("a connection string that is not set, or for another account, is refused", () => {
  const parameters = { "connection-string-env": "AZURE" };
  expect(() => urlOptions(url(parameters), { env: {} })).toThrow("names the variable AZURE, which is not set");
  expect(() => urlOptions(url(parameters, "other"), { env: { AZURE } })).toThrow("the URL names the account other");
});

test.each<[text: string, says: string | undefined]>([
  ["azure-blob://acc/leases", undefined],
  ["azure-blob://acc/leases?endpoint=https://acc.example", undefined],
  ["azure-blob://acc/leases?connection-string-env=AZURE", undefined],
  ["azure-blob:///leases", "names an account and a container: azure-blob://ACCOUNT/CONTAINER."],
  ["azure-blob://acc", "names an account and a container"],
  ["azure-blob://acc/leases/e", "names an account and a container"],
  ["azure-blob://acc/leases?endpoint=https://a&connection-string-env=A", "has endpoint or connection-string-env, and not both."],
])("%s is checked", (text, says) => {
  const check = (): void => fromUrl["azure-blob"]!.check(storeUrl(text));
  if (says === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(says);
});

test("a URL needs @azure/identity unless it names a connection string", () => {
  const scheme = fromUrl["azure-blob"]!;
  expect(scheme.packages?.(url({}))).toEqual(["@azure/identity"]);
  expect(scheme.packages?.(url({ "connection-string-env": "AZURE" }))).toEqual([]);
});
