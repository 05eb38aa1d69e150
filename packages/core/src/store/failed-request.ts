import { isLeaseholdError, StoreError, type StoreErrorCode } from "../reporting/errors.ts";
import { asSentence } from "../reporting/redact.ts";

/** A request as its errors name it. */
export interface RequestLabel {
  readonly store: string;
  /** The name of the request, for instance `renew`. */
  readonly operation: string;
  /** Undefined for a request that is about no election. */
  readonly election: string | undefined;
  /** True where the service changes something. A request without a reply may then have been applied. */
  readonly writes: boolean;
}

/** The meaning of a service's error. */
export interface RequestFailure {
  readonly code: StoreErrorCode;
  /** The text after "failed": what the service has said, without secrets, and advice. */
  readonly text: string;
  /** True if the service has certainly not carried the request out. */
  readonly notApplied: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

export function requestFailed(request: RequestLabel, { code, text, notApplied, ...details }: RequestFailure): StoreError {
  const { writes, ...label } = request;
  const of = label.election === undefined ? "" : ` of '${label.election}'`;
  const message = `${label.store}: '${label.operation}'${of} failed${text}`;
  return new StoreError(code, message, { ...label, ...details, mayHaveBeenApplied: writes && !notApplied });
}

/** Returns the error of a write that met another write at each try, and was not carried out. */
export function conflict(store: string, election: string, operation: string): StoreError {
  const message = `${store}: others kept writing the record of '${election}' during '${operation}'.`;
  return new StoreError("STORE_CONFLICT", message, { store, operation, election, mayHaveBeenApplied: false });
}

/** Returns the error of an administrator's call that may have had an effect. `advice` says how to try again. */
export function outcomeUnknown(
  code: StoreErrorCode,
  label: { readonly store: string; readonly operation: string; readonly election: string },
  advice: string,
  cause: unknown,
): StoreError {
  const { store, operation, election } = label;
  const why = isLeaseholdError(cause) ? `: ${asSentence(cause.message)}` : ", because no reply came.";
  const message = `${store}: the outcome of the ${operation} of '${election}' is unknown${why} ${advice}`;
  return new StoreError(code, message, { ...label, mayHaveBeenApplied: true, cause });
}

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
