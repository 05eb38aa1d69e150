import { isLeaseholdError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, requestFailed, wasNeverSent, type RequestLabel as CoreLabel } from "@leasehold/core/provider";
import { ApiFailure, type ApiFailureFacts } from "./transport.ts";

export const STORE_NAME = "kubernetes";

export type RequestLabel = Omit<CoreLabel, "store">;

/** The statuses after which the server has not carried out the request. After any other status it may have done so. */
const REFUSALS: Readonly<Record<number, StoreErrorCode>> = {
  400: "STORE_REJECTED",
  401: "STORE_UNAUTHENTICATED",
  403: "STORE_DENIED",
  404: "STORE_MISSING",
  405: "STORE_REJECTED",
  406: "STORE_REJECTED",
  409: "STORE_CONFLICT",
  410: "STORE_CONFLICT",
  413: "STORE_REJECTED",
  415: "STORE_REJECTED",
  422: "STORE_REJECTED",
  429: "STORE_THROTTLED",
};

/** The error codes of a TLS handshake in which one side does not trust the other. Nothing was accepted then. */
const NOT_TRUSTED = /CERT|SIGNATURE|UNABLE_TO_GET_ISSUER|UNKNOWN_CA/;

const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_UNAUTHENTICATED: " The token or the client's certificate is not valid, or has expired.",
  STORE_DENIED:
    " Candidates need the verbs get, create, patch and watch on leases of the group coordination.k8s.io; list() needs list. The README has the Role.",
  STORE_MISSING: " Does the namespace exist, and is the URL that of an API server?",
};

/** Reports whether there is no Lease of this name. */
export function isMissingLease(error: unknown): boolean {
  return isStatus(error, 404) && factsOf(error).reason === "NotFound" && factsOf(error).resource === "leases";
}

/** Reports whether the condition of a write was not met: the Lease exists already, is gone, or has another `resourceVersion`. */
export function isUnmetCondition(error: unknown): boolean {
  const { reason } = factsOf(error);
  return isMissingLease(error) || (isStatus(error, 409) && (reason === "AlreadyExists" || reason === "Conflict"));
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiFailure && error.facts.status === status;
}

/** Returns the token for the next page of a list whose own token has expired; `undefined` for any other failure. */
export function continueAfter(error: unknown): string | undefined {
  return isStatus(error, 410) ? factsOf(error).continueToken : undefined;
}

/** Returns a transport's failure as a `StoreError`. Returns an error of Leasehold unchanged. */
export function toStoreError(error: unknown, label: RequestLabel): Error {
  if (isLeaseholdError(error)) return error;
  const failure = error instanceof ApiFailure ? error : new ApiFailure(String(error), { status: 0 });
  const { socketCode, retryAfterMs } = failure.facts;
  const code = codeOf(failure.facts);
  const notApplied = isRefusal(failure.facts) || wasNeverSent(socketCode) || isUntrusted(failure.facts);
  const text = `: ${asSentence(failure.message)}${ADVICE[code] ?? ""}`;
  return requestFailed({ store: STORE_NAME, ...label }, { code, text, notApplied, retryAfterMs, cause: failure });
}

function codeOf(facts: ApiFailureFacts): StoreErrorCode {
  if (isUntrusted(facts)) return "STORE_UNAUTHENTICATED";
  if (facts.reason === "Timeout") return "STORE_TIMEOUT";
  // A gateway's own 401 or 404 has the same meaning. Other answers of a gateway say nothing about the API server.
  const isMeant = facts.reason !== undefined || facts.status === 401 || facts.status === 404;
  return (isMeant ? REFUSALS[facts.status] : undefined) ?? "STORE_UNAVAILABLE";
}

/** Only Kubernetes' own answer proves that nothing was written. */
function isRefusal({ status, reason }: ApiFailureFacts): boolean {
  return reason !== undefined && REFUSALS[status] !== undefined;
}

function isUntrusted({ socketCode }: ApiFailureFacts): boolean {
  return socketCode !== undefined && NOT_TRUSTED.test(socketCode);
}

function factsOf(error: unknown): ApiFailureFacts {
  return error instanceof ApiFailure ? error.facts : { status: 0 };
}
