import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { ConfigurationError } from "@leasehold/core";
import { systemClock, type Clock, checkName, checkOptions, defineOptions } from "@leasehold/core/provider";
import type { ListenOptions } from "./http-listener.ts";
import type { Secret } from "./packet.ts";

/** The certificates of servers that speak TLS, as PEM. */
export interface VotingTls {
  /** This server's private key. */
  readonly key: string | Buffer;
  /** This server's certificate, for the host of its own address. */
  readonly cert: string | Buffer;
  /** The authority that has issued the servers' certificates. @defaultValue those that Node trusts */
  readonly ca?: string | Buffer | undefined;
}

export interface VotingLeaseStoreOptions {
  /** The name of this server: one of those in `servers`. */
  readonly server: string;
  /**
   * The address of every server by the server's name, such as `http://10.0.0.1:7400`. The other servers reach it there. Give one,
   * three, five or seven servers, and the same list on all of them, in any order.
   */
  readonly servers: Readonly<Record<string, string>>;
  /**
   * The text by which all servers sign: at least 16 characters that are hard to guess. Of several, the first signs and all are
   * accepted. To change it without a pause, start all servers with `[old, new]`, then with `[new, old]`, then with the new one.
   */
  readonly secret: Secret;
  /**
   * A directory on a local disk, for this server alone, in which its votes are kept. It is made if it is missing. A server that
   * has lost it takes part again only once most of the others have reported their state.
   */
  readonly stateDirectory: string;
  /**
   * The address of this machine to listen on. The port is that of this server's entry in `servers`.
   * @defaultValue loopback, if this server's entry in `servers` names loopback
   */
  readonly host?: string | undefined;
  /**
   * Needed with addresses of `https:`, and refused with others. A function is called at the start, and again with a request, at most
   * once a minute. New connections use its result, so certificates can be replaced without a restart.
   */
  readonly tls?: VotingTls | (() => VotingTls | Promise<VotingTls>) | undefined;
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

const OPTIONS = defineOptions<VotingLeaseStoreOptions>()("server servers secret stateDirectory host tls clock");
const TLS_OPTIONS = defineOptions<VotingTls>()("key cert ca");

const MOST_SERVERS = 7;
const SHORTEST_SECRET = 16;
const WHERE = "Give the scheme, the host and the port, such as http://10.0.0.1:7400.";

/** Options that can work, as far as can be known without trying them. */
export interface Resolved extends Pick<VotingLeaseStoreOptions, "server" | "secret" | "stateDirectory"> {
  readonly servers: Readonly<Record<string, URL>>;
  readonly listen: Pick<ListenOptions, "host" | "port">;
  /** Reads the certificates, and checks them. Undefined for addresses of `http:`. */
  readonly readTls: (() => Promise<VotingTls>) | undefined;
  readonly clock: Clock;
}

/** @throws {ConfigurationError} for options that cannot work. Nothing was opened or sent. */
export function resolveOptions(options: VotingLeaseStoreOptions): Resolved {
  checkOptions("VotingLeaseStore.open", options, OPTIONS);
  const { server, secret, stateDirectory, tls, clock = systemClock } = options;
  const servers = checkServers(options.servers);
  const own = Object.hasOwn(servers, server) ? servers[server] : undefined;
  if (!own) {
    const names = Object.keys(servers).join(", ");
    throw new ConfigurationError(`server is ${JSON.stringify(server)}, which is not in servers: there are ${names}.`);
  }
  checkSecret(secret);
  if (typeof stateDirectory !== "string" || stateDirectory === "") {
    throw new ConfigurationError("stateDirectory is missing: give a directory on a local disk, for this server alone.");
  }
  const readTls = readerOf(tls, own.protocol === "https:");
  const listen = { host: checkHost(options.host, server, own), port: portOf(own) };
  return { server, servers, secret, stateDirectory, listen, readTls, clock };
}

function checkServers(given: unknown): Readonly<Record<string, URL>> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new ConfigurationError(`servers must be an object of addresses by the servers' names. ${WHERE}`);
  }
  const entries = Object.entries(given as Record<string, unknown>);
  if (entries.length === 0 || entries.length > MOST_SERVERS) {
    throw new ConfigurationError(`servers has ${entries.length} entries; give one to seven. Three survive the loss of one.`);
  }
  for (const [name] of entries) checkName("name", name);
  const servers = Object.fromEntries(entries.map(([name, address]) => [name, checkAddress(`server '${name}'`, address)]));
  const schemes = new Set(Object.values(servers).map(({ protocol }) => protocol));
  if (schemes.size > 1) throw new ConfigurationError("servers has addresses of http: and of https:; give those of one kind.");
  for (const [name, { host }] of Object.entries(servers)) {
    const other = Object.keys(servers).find((each) => each !== name && servers[each]?.host === host);
    if (other !== undefined) throw new ConfigurationError(`The servers '${name}' and '${other}' have the same address, ${host}.`);
  }
  return servers;
}

/** The error does not repeat the address, because it may hold a password. */
export function checkAddress(whose: string, given: unknown): URL {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(`The address of the ${whose} is not a URL of http: or https:. ${WHERE}`);
  }
  if (url.username !== "" || url.password !== "" || url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new ConfigurationError(`The address of the ${whose} has more in it than it may. ${WHERE}`);
  }
  // `URL` leaves out the default port of a scheme, so the given text is checked.
  if (!/:\d+\/?$/.test(given as string) || portOf(url) === 0) {
    throw new ConfigurationError(`The address of the ${whose} has no port. ${WHERE}`);
  }
  return url;
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

export function checkSecret(secret: unknown): void {
  if (Array.isArray(secret) && secret.length > 0) return secret.forEach(checkSecret);
  if (typeof secret === "string" && secret.length >= SHORTEST_SECRET) return;
  const is = typeof secret === "string" ? `has ${secret.length} characters` : "is missing";
  throw new ConfigurationError(
    `secret ${is}; give all servers the same one of at least ${SHORTEST_SECRET}, for instance from: openssl rand -hex 32`,
  );
}

/** Certificates that do not change are checked at once. */
function readerOf(tls: VotingLeaseStoreOptions["tls"], isHttps: boolean): Resolved["readTls"] {
  if (!isHttps && tls === undefined) return undefined;
  if (!isHttps) throw new ConfigurationError("tls needs addresses of https: in servers.");
  if (tls === undefined) throw new ConfigurationError("Addresses of https: need tls, with this server's key and cert.");
  if (typeof tls === "function") return async () => checkTls(await tls());
  checkTls(tls);
  return () => Promise.resolve(tls);
}

function checkTls(tls: VotingTls): VotingTls {
  checkOptions("tls", tls, TLS_OPTIONS);
  if (tls.key === undefined || tls.cert === undefined) {
    throw new ConfigurationError("tls needs key and cert: those of this server, as PEM.");
  }
  try {
    createSecureContext({ ...tls });
  } catch {
    // The message of OpenSSL may quote the options.
    throw new ConfigurationError("tls cannot be used: key, cert and ca must be PEM, and the key that of the certificate.");
  }
  return tls;
}

/** Without `host`, the own address must be loopback, so that other machines can connect only if that was asked for. */
function checkHost(host: unknown, server: string, { hostname, origin }: URL): string {
  if (host !== undefined) {
    if (typeof host === "string" && host !== "" && !/[/\s]/.test(host)) return host;
    throw new ConfigurationError("host must be an address of this machine to listen on, such as 10.0.0.1 or 0.0.0.0.");
  }
  const plain = hostname.replace(/^\[|\]$/g, "");
  if (plain === "localhost" || plain === "::1" || (isIP(plain) === 4 && plain.startsWith("127."))) return plain;
  throw new ConfigurationError(
    `The others reach '${server}' at ${origin}, and without host it would listen on loopback alone: set host to ${isIP(plain) ? plain : "the address of this machine"}, or to 0.0.0.0 for all of them.`,
  );
}
