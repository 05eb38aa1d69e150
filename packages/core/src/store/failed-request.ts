/** The socket errors after which no connection existed, so that nothing was sent. */
const NO_CONNECTION: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** Reports whether a socket error of this code proves that the request never reached its service. */
export function wasNeverSent(code: unknown): boolean {
  return NO_CONNECTION.has(code);
}

/**
 * Returns the wait that a `Retry-After` header asks for, in milliseconds. Ignores a header that names a date, because no local
 * clock may judge it.
 */
export function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header);
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}
