import { ConfigurationError } from "@leasehold/core";
import { disposable, type OpenedStore, type StoreSchemes, type StoreUrl, type StoreUrlContext } from "@leasehold/core/provider";
import { EtcdLeaseStore } from "./etcd-lease-store.ts";
import type { EtcdTls } from "./options.ts";

/** The default port of etcd for clients. */
const PORT = 2379;

/**
 * Opens an {@link EtcdLeaseStore} by a URL such as `etcd://HOST,HOST,HOST?prefix=/services/`, which lists the members' addresses.
 * `etcds:` is for TLS: its parameters `ca`, `cert` and `key` name files.
 */
export const fromUrl: StoreSchemes = {
  etcd: { parameters: ["prefix"], check, open },
  etcds: { parameters: ["prefix", "ca", "cert", "key"], check, open },
};

function check({ scheme, authority, path }: StoreUrl): void {
  if (path === "" && authority.split(",").every((host) => host !== "")) return;
  throw new ConfigurationError(
    `a URL of ${scheme}: names hosts, and no path: ${scheme}://HOST:${PORT},HOST:${PORT}?prefix=/services/.`,
  );
}

async function open(url: StoreUrl, context: StoreUrlContext): Promise<OpenedStore> {
  const { scheme, authority, user, password, parameters } = url;
  const origin = scheme === "etcds" ? "https" : "http";
  const hosts = authority.split(",").map((host) => (/:\d+$/.test(host) ? host : `${host}:${PORT}`));
  const endpoints = hosts.map((host) => `${origin}://${host}`);
  const tls = await certificatesOf(url, context);
  return disposable(new EtcdLeaseStore({ endpoints, user, password, prefix: parameters.get("prefix"), tls }), () => {});
}

async function certificatesOf(url: StoreUrl, context: StoreUrlContext): Promise<EtcdTls | undefined> {
  const contents: { -readonly [Name in keyof EtcdTls]: EtcdTls[Name] } = {};
  for (const name of ["ca", "cert", "key"] as const) {
    const content = await context.readFile(url, name);
    if (content !== undefined) contents[name] = content;
  }
  return Object.keys(contents).length === 0 ? undefined : contents;
}
