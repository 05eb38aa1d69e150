import { ConfigurationError } from "@leasehold/core";
import type { StoreUrl } from "@leasehold/core/provider";
import { keepSecret, printable } from "../text.ts";

// The parser of store URLs. The platform's own cannot serve: it refuses several hosts, and lower-cases names.

const SHAPE = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<authority>[^/?#]*)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;

/** Returns the scheme of a URL, even if the rest of the URL is invalid. */
export function schemeOf(text: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/.exec(text)?.[1];
}

/** @throws {ConfigurationError} for an invalid URL. The message does not repeat the URL, which may have a password. */
export function parseStoreUrl(text: string): StoreUrl {
  const { scheme = "", authority = "", path = "", query = "" } = SHAPE.exec(text)?.groups ?? {};
  // An unencoded slash or question mark in a password ends the host early. Then the `@` is in the path or the query.
  if (scheme === "" || /@/.test(path + query)) {
    const lack = text.startsWith("//", text.indexOf(":") + 1) ? "cannot be read" : `has no // after '${schemeOf(text)}:'`;
    throw new ConfigurationError(
      `the store's URL ${lack}. It looks like scheme://place/name?option=value; percent-encode what is special in a user, a password or a name.`,
    );
  }
  const at = authority.lastIndexOf("@");
  const [user, ...rest] = at < 0 ? [] : authority.slice(0, at).split(":");
  const password = rest.length === 0 ? undefined : rest.join(":");
  const url: StoreUrl = {
    text,
    scheme,
    user: user === undefined ? undefined : decoded(user),
    password: password === undefined ? undefined : decoded(password),
    authority: decoded(authority.slice(at + 1)),
    path: decoded(path),
    file: process.platform === "win32" ? decoded(path) : `/${decoded(path)}`,
    parameters: parametersOf(scheme, query),
  };
  // Keep both forms secret: the password as the URL has it, and decoded, as a driver may print it.
  for (const secret of [password ?? "", ...passwordsIn(url)]) keepSecret(secret);
  return url;
}

/** Returns the passwords of a URL, also those in its parameters. */
export function passwordsIn({ password, parameters }: StoreUrl): readonly string[] {
  const others = [...parameters].filter(([name]) => /^(ssl)?passw(or)?d$/i.test(name)).map(([, value]) => value);
  return [...(password ? [password] : []), ...others];
}

/** Returns a URL as people may see it: without user, password and parameters. Parameters may be secret too. */
export function shownStoreUrl(text: string): string {
  const { scheme, user, authority, path } = parseStoreUrl(text);
  const rest = path === "" && authority !== "" ? "" : `/${path}`;
  return printable(`${scheme}://${user === undefined ? "" : "…@"}${authority}${rest}`);
}

function parametersOf(scheme: string, query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const part of query.split("&").filter((text) => text !== "")) {
    const [rawName = "", ...value] = part.split("=");
    const name = decoded(rawName);
    if (parameters.has(name)) throw new ConfigurationError(`the store's URL (${scheme}) has the parameter '${name}' twice.`);
    parameters.set(name, decoded(value.join("=")));
  }
  return parameters;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new ConfigurationError("the store's URL has a % that is not followed by two hexadecimal digits; write it as %25.", {
      cause,
    });
  }
}
