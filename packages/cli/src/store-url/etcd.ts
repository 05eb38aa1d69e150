import { readFile } from "node:fs/promises";
import { ConfigurationError } from "@leasehold/core";
import type { EtcdLeaseStore, EtcdLeaseStoreOptions, EtcdTls } from "@leasehold/etcd";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind } from "./store-kind.ts";
import type { StoreUrl } from "./store-url.ts";

type EtcdModule = { readonly EtcdLeaseStore: new (options: EtcdLeaseStoreOptions) => EtcdLeaseStore };

/** The default port of etcd for clients. */
const PORT = 2379;
const CERTIFICATES = ["ca", "cert", "key"] as const;

/** An etcd cluster, by its members' addresses. */
export const etcd: StoreKind = kindOf("etcd", "etcd://HOST,HOST,HOST?prefix=/services/", ["prefix"]);

/** An etcd cluster over TLS. */
export const etcds: StoreKind = kindOf("etcds", "etcds://HOST?ca=/etc/etcd/ca.pem", ["prefix", ...CERTIFICATES]);

function kindOf(scheme: "etcd" | "etcds", example: string, parameters: readonly string[]): StoreKind {
  return {
    example,
    parameters,
    check({ authority, path }) {
      if (path === "" && authority.split(",").every((host) => host !== "")) return;
      throw new ConfigurationError(
        `a URL of ${scheme}: names hosts, and no path: ${scheme}://HOST:${PORT},HOST:${PORT}?prefix=/services/.`,
      );
    },
    async open(url, place) {
      const options = { ...settingsOf(url), tls: await certificatesOf(url) };
      const { module } = await loadProvider<EtcdModule>("@leasehold/etcd", place);
      return disposable(new module.EtcdLeaseStore(options), () => {});
    },
  };
}

function settingsOf({ scheme, authority, user, password, parameters }: StoreUrl): EtcdLeaseStoreOptions {
  const origin = scheme === "etcds" ? "https" : "http";
  const hosts = authority.split(",").map((host) => (/:\d+$/.test(host) ? host : `${host}:${PORT}`));
  return { endpoints: hosts.map((host) => `${origin}://${host}`), user, password, prefix: parameters.get("prefix") };
}

async function certificatesOf({ parameters }: StoreUrl): Promise<EtcdTls | undefined> {
  const contents: { -readonly [Name in keyof EtcdTls]: EtcdTls[Name] } = {};
  for (const name of CERTIFICATES) {
    const path = parameters.get(name);
    if (path !== undefined) contents[name] = await contentOf(name, path);
  }
  return Object.keys(contents).length === 0 ? undefined : contents;
}

async function contentOf(name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(`${name} names the file ${path}, which cannot be read (${code}).`);
  }
}
