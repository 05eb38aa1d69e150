import { BlockList, isIP } from "node:net";
import type { IncomingHttpHeaders } from "node:http";
import { hasBearerToken } from "../http/bearer-token.ts";

/** The parts of a request that show where it comes from. */
export interface Asking {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's address. Undefined on a Unix socket. */
  readonly remoteAddress: string | undefined;
}

/** The rules by which a request may read or change something. */
export interface AccessRules {
  /** The host names under which clients reach this server, besides IP addresses and `localhost`. */
  readonly hosts: readonly string[];
  /** The token that a change needs. Undefined: no change is allowed. */
  readonly token: string | undefined;
}

/** The answer to a request that is refused. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly error: string;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * Returns why a request is refused. Undefined if the request may be answered.
 *
 * A web page in a browser can send requests to this server, even if the network is closed to the page's author. The browser
 * hides the answers of another origin from the page. With DNS rebinding, the page's own name resolves to this address. Then the
 * browser shows the answers, but the Host header has the page's name.
 */
export function refusal(asking: Asking, rules: AccessRules): Refusal | undefined {
  const { method, headers } = asking;
  if (!isKnownHost(headers.host, rules.hosts)) {
    return { status: 403, error: "the Host header names a host that is not served here; serve allows it with --http-host NAME" };
  }
  if (isForeign(headers)) return { status: 403, error: "requests of other sites' pages are refused" };
  return method === "POST" ? changeRefusal(asking, rules.token) : undefined;
}

function isKnownHost(header: string | undefined, hosts: readonly string[]): boolean {
  // HAProxy's checks send no Host header. Every browser sends one.
  if (header === undefined || header === "") return true;
  const [, bracketed, plain = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6;
  const name = plain.toLowerCase().replace(/\.$/, "");
  return name === "localhost" || isIP(name) === 4 || hosts.some((host) => host.toLowerCase() === name);
}

/** Reports whether a page of another site sent the request. A link is allowed: only the person who follows it sees the answer. */
function isForeign(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true;
  const { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": destination } = headers;
  return (site === "cross-site" || site === "same-site") && !(mode === "navigate" && destination === "document");
}

function changeRefusal({ headers, remoteAddress }: Asking, token: string | undefined): Refusal | undefined {
  if (!isLocal(remoteAddress)) return { status: 403, error: "changes are taken from this machine only" };
  if (token === undefined) return { status: 403, error: "nothing can be changed: no token was set, see --token-file" };
  if (hasBearerToken(headers.authorization, token)) return undefined;
  return { status: 401, error: "the header 'Authorization: Bearer TOKEN' is missing or wrong" };
}

function isLocal(remoteAddress: string | undefined): boolean {
  if (remoteAddress === undefined) return true;
  const address = remoteAddress.replace(/^::ffff:/, "");
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 6 ? "ipv6" : "ipv4");
}
