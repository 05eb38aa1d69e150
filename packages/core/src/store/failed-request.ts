/** The socket errors before which no connection stood. */
const NO_CONNECTION: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** Reports whether a socket error of this code excludes that the request has reached its service. */
export function wasNeverSent(code: unknown): boolean {
  return NO_CONNECTION.has(code);
}

/** Returns the wait that a `Retry-After` header asks for. One that names a date asks for none: no local clock judges that. */
export function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header);
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}
