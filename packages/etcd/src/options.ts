import { createSecureContext } from "node:tls";
import { ConfigurationError } from "@leasehold/core";
import { type Clock, checkOptions, defineOptions } from "@leasehold/core/provider";
import { HttpTransport } from "./http-transport.ts";
import { authenticated } from "./authentication.ts";
import type { EtcdTransport } from "./transport.ts";

/** The TLS certificates, as PEM. */
export interface EtcdTls {
  /** The certificate of the authority that signed the members' certificates. @defaultValue the authorities that Node trusts */
  readonly ca?: string | Buffer | undefined;
  /** The client's certificate; needs `key`. */
  readonly cert?: string | Buffer | undefined;
  /** The client's private key; needs `cert`. */
  readonly key?: string | Buffer | undefined;
}

export interface EtcdLeaseStoreOptions {
  /** The client URLs of the members of one cluster, such as `http://10.0.0.7:2379`. */
  readonly endpoints?: string | readonly string[] | undefined;
  /** The certificates to use with URLs of `https:`. */
  readonly tls?: EtcdTls | undefined;
  /** The user, if etcd's authentication is on; needs `password`. */
  readonly user?: string | undefined;
  /** The user's password. */
  readonly password?: string | undefined;
  /**
   * The store puts this text before the name of each election, with nothing between them. With `/services/` the election
   * `billing` is the one of Go's `concurrency.NewElection(session, "/services/billing")`. @defaultValue nothing
   */
  readonly prefix?: string | undefined;
  /** A transport of your own, in place of `endpoints`. */
  readonly transport?: EtcdTransport | undefined;
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

const OPTIONS = defineOptions<EtcdLeaseStoreOptions>()("endpoints tls user password prefix transport clock");

const TLS_OPTIONS = defineOptions<EtcdTls>()("ca cert key");

/** @throws {ConfigurationError} for options that cannot work. Nothing is sent. */
export function resolveOptions(options: EtcdLeaseStoreOptions): { readonly transport: EtcdTransport; readonly prefix: string } {
  checkOptions("EtcdLeaseStore", options, OPTIONS);
  const { endpoints, tls, user, password, prefix = "", transport } = options;
  if ((endpoints === undefined) === (transport === undefined)) {
    throw new ConfigurationError("EtcdLeaseStore needs endpoints, the URLs of the members of the cluster; or else a transport.");
  }
  checkPrefix(prefix);
  const way = transport === undefined ? new HttpTransport(checkEndpoints(endpoints, tls), tls) : checkTransport(transport, tls);
  if (user === undefined && password === undefined) return { transport: way, prefix };
  return { transport: authenticated(way, { name: checkText("user", user), password: checkText("password", password) }), prefix };
}

function checkEndpoints(given: EtcdLeaseStoreOptions["endpoints"], tls: EtcdTls | undefined): readonly URL[] {
  const endpoints = (typeof given === "string" ? [given] : [...(Array.isArray(given) ? (given as readonly unknown[]) : [])]).map(
    checkEndpoint,
  );
  if (endpoints.length === 0)
    throw new ConfigurationError("endpoints is empty; give the URL of each member, such as http://10.0.0.7:2379.");
  if (new Set(endpoints.map(({ protocol }) => protocol)).size > 1) {
    throw new ConfigurationError("endpoints has URLs of http: and of https:; give those of one kind.");
  }
  checkTls(tls, endpoints[0]?.protocol === "https:");
  return endpoints;
}

/** Checks one URL. Errors do not contain the URL, because it may hold a password. */
function checkEndpoint(given: unknown, index: number): URL {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(`endpoints[${index}] is not a URL of http: or https:; it looks like http://10.0.0.7:2379.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ConfigurationError(
      `endpoints[${index}] has a user or a password in it; give them as the options user and password.`,
    );
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new ConfigurationError(`endpoints[${index}] has a path or a query; give the scheme, the host and the port only.`);
  }
  return url;
}

function checkTls(tls: EtcdTls | undefined, isHttps: boolean): void {
  if (tls === undefined) return;
  checkOptions("tls", tls, TLS_OPTIONS);
  if (!isHttps) throw new ConfigurationError("tls needs endpoints of https:.");
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ConfigurationError("tls has only one of cert and key; a client's certificate needs both.");
  }
  try {
    createSecureContext({ ...tls });
  } catch {
    // OpenSSL's message may quote the given text, which may be a key.
    throw new ConfigurationError("tls cannot be used: ca, cert and key must be PEM, and key must belong to cert.");
  }
}

function checkTransport(transport: EtcdTransport, tls: EtcdTls | undefined): EtcdTransport {
  if (tls !== undefined) throw new ConfigurationError("tls goes with endpoints; a transport brings its own.");
  if (typeof transport?.call === "function" && typeof transport.watch === "function") return transport;
  throw new ConfigurationError("transport is not an EtcdTransport: an object with call and watch.");
}

function checkPrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix === "string" && prefix.isWellFormed() && !/\p{Cc}/u.test(prefix)) return;
  throw new ConfigurationError("prefix must be text without control characters and lone surrogates, such as /services/.");
}

function checkText(name: string, given: unknown): string {
  if (typeof given === "string" && given !== "") return given;
  throw new ConfigurationError(`${name} is missing; if etcd's authentication is on, give both user and password.`);
}
