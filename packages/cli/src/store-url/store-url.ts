import { ConfigurationError } from "@leasehold/core";

/** A store's URL, taken apart. The platform's own parser refuses several hosts, and lower-cases names. */
export interface StoreUrl {
  /** As it was given: with its password, if it has one. */
  readonly text: string;
  readonly scheme: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** What is between `//` and the path, without user and password: an account, a table, a project, one host or several. */
  readonly authority: string;
  /** Decoded, without the slash before it; empty where there is none. */
  readonly path: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const SHAPE = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<authority>[^/?#]*)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;

/** Returns the scheme of a URL, even of one that cannot be read. */
export function schemeOf(text: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/.exec(text)?.[1];
}

/** @throws {ConfigurationError} for what is no URL, which may hold a password and so is not repeated. */
export function parseStoreUrl(text: string): StoreUrl {
  const { scheme = "", authority = "", path = "", query = "" } = SHAPE.exec(text)?.groups ?? {};
  // An unencoded slash or question mark in a password ends the host early; what follows it then has the `@`.
  if (scheme === "" || /@/.test(path + query)) {
    throw new ConfigurationError(
      "the store's URL cannot be read. It looks like scheme://place/name?option=value; percent-encode what is special in a user, a password or a name.",
    );
  }
  const at = authority.lastIndexOf("@");
  const [user, ...password] = at < 0 ? [] : authority.slice(0, at).split(":");
  return {
    text,
    scheme,
    user: user === undefined ? undefined : decoded(user),
    password: password.length === 0 ? undefined : decoded(password.join(":")),
    authority: decoded(authority.slice(at + 1)),
    path: decoded(path),
    parameters: parametersOf(scheme, query),
  };
}

function parametersOf(scheme: string, query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const part of query.split("&").filter((text) => text !== "")) {
    const [name = "", ...value] = part.split("=");
    if (parameters.has(name)) throw new ConfigurationError(`the store's URL (${scheme}) has the parameter '${name}' twice.`);
    parameters.set(decoded(name), decoded(value.join("=")));
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
