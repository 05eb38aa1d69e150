const NO_CONNECTION: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** Reports whether a socket error of this code proves that the request never reached its service. */
export function wasNeverSent(code: unknown): boolean {
  return NO_CONNECTION.has(code);
}

/** Returns the milliseconds of a `Retry-After` header. Ignores one that names a date, because no local clock may judge it. */
export function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header);
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}
