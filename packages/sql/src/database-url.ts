import { ConfigurationError } from "@leasehold/core";

/**
 * Checks that the drivers will read a URL as its author meant it.
 * @throws {ConfigurationError} that shows nothing of the URL: it may hold a password.
 */
export function checkDatabaseUrl(option: "mysql" | "postgres", url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // An unencoded slash or hash ends the host early; what follows then looks like a path, with the `@` in it.
  const cutShort = parsed && /@/.test(parsed.pathname + parsed.hash);
  if (parsed && !cutShort && isEncoded(url)) return url;
  throw new ConfigurationError(
    `${option} is a URL that cannot be read. It looks like ${option}://user:password@host:port/database; percent-encode what is special in the user and the password: encodeURIComponent(password).`,
  );
}

/** The drivers decode the user, the password and the database. */
function isEncoded(url: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(url);
}
