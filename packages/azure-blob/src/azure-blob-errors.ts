import { isLeaseholdError, StoreError, type LossReason, type StoreErrorCode } from "@leasehold/core";
import { discreet, retryAfterMs, wasNeverSent } from "@leasehold/core/provider";

export const STORE_NAME = "azure-blob";

/** What an error of the SDK says, with nothing secret in it. */
export interface BlobFailure {
  /** The HTTP status; 0 where no reply came. */
  readonly status: number;
  /** The service's error code, or the socket's. */
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  /** Whether the service itself answered: its replies carry a request id, a proxy's or a captive portal's do not. */
  readonly fromService: boolean;
  /** An error with the same meaning and without the request, whose headers hold the lease id. */
  readonly cause: Error;
}

/**
 * Lease codes by what they mean for who holds a lease (409 and 412; the service's and its emulator's alike).
 * https://learn.microsoft.com/rest/api/storageservices/lease-blob#remarks
 */
const LOST = new Set([
  "LeaseLost",
  "LeaseIdMismatchWithLeaseOperation",
  "LeaseIdMismatchWithBlobOperation",
  "LeaseNotPresentWithLeaseOperation",
  "LeaseNotPresentWithBlobOperation",
  "LeaseIdMissing",
]);
const BROKEN = new Set(["LeaseIsBrokenAndCannotBeRenewed", "LeaseIsBreakingAndCannotBeChanged", "LeaseAlreadyBroken"]);
const GONE = new Set(["BlobNotFound", "ContainerNotFound", "ContainerBeingDeleted", "ContainerDisabled", "ResourceNotFound"]);
const TAKEN = new Set(["LeaseAlreadyPresent", "LeaseIsBreakingAndCannotBeAcquired"]);
const EXISTS = new Set(["BlobAlreadyExists", "ContainerAlreadyExists", "LeaseIdMissing", "BlobImmutableDueToPolicy"]);

/** What the service said, by the error that {@link toStoreError} made of it. */
const failures = new WeakMap<object, BlobFailure>();

/** What the service said, of an error that {@link toStoreError} made; any other says nothing of the lease. */
export function failureOf(error: unknown): BlobFailure {
  const failure = typeof error === "object" && error !== null ? failures.get(error) : undefined;
  return failure ?? { status: 0, code: "Unknown", retryAfterMs: undefined, fromService: false, cause: error as Error };
}

/** Whether the service may have carried out the request that failed. */
export function mayHaveBeenApplied(error: unknown): boolean {
  return (error as Partial<StoreError> | undefined)?.mayHaveBeenApplied === true;
}

/** Lets a failed create pass where the thing is there already. */
export function unlessItExists(error: unknown): void {
  if (!alreadyExists(failureOf(error))) throw error;
}

/** What to do, where the service's own words leave that open. */
const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_DENIED: " Candidates need the role Storage Blob Data Contributor on the container; observers, Storage Blob Data Reader.",
};

/** Reads the SDK's error. A HEAD has no body, so its code is in `details` or in a header. */
function readFailure(error: unknown): BlobFailure {
  const { statusCode, code, details, response, message, name } = (error ?? {}) as {
    statusCode?: number;
    code?: string;
    details?: { errorCode?: string };
    response?: { headers?: { get(name: string): string | undefined } };
    message?: string;
    name?: string;
  };
  const header = (headerName: string): string | undefined => response?.headers?.get(headerName);
  const serviceCode = details?.errorCode ?? header("x-ms-error-code") ?? code ?? name ?? "Unknown";
  const status = statusCode ?? 0;
  const requestId = header("x-ms-request-id");
  // What others than the service answer may repeat the whole request, signature and all.
  const text = status !== 0 && requestId === undefined ? "the answer does not come from the service" : discreet(message ?? "");
  const cause = new Error(
    `${serviceCode}${status ? ` (HTTP ${status})` : ""}: ${text}${requestId ? ` [request ${requestId}]` : ""}`,
  );
  cause.name = name ?? "Error";
  return {
    status,
    code: serviceCode,
    retryAfterMs: retryAfterMs(header("retry-after")),
    fromService: requestId !== undefined,
    cause,
  };
}

/** Whether the failure means that another holds the lease, or will not let go of it yet. */
export function isTaken({ code }: BlobFailure): boolean {
  return TAKEN.has(code);
}

/** Whether a create found the thing there already; the service says so in two ways when the blob is leased. */
function alreadyExists({ status, code }: BlobFailure): boolean {
  return (status === 409 || status === 412) && EXISTS.has(code);
}

/** Whether the blob or its container is not there. */
export function isGone({ status, code, fromService }: BlobFailure): boolean {
  return fromService && (GONE.has(code) || status === 404);
}

export function isContainerGone({ code }: BlobFailure): boolean {
  return code === "ContainerNotFound";
}

/** Whether an `ifMatch` or `ifNoneMatch` did not hold. */
export function conditionFailed({ status, code }: BlobFailure): boolean {
  return (
    code === "ConditionNotMet" || code === "TargetConditionNotMet" || (status === 412 && !LOST.has(code) && !BROKEN.has(code))
  );
}

/** How the lease was lost, if that is what the failure of a holder's request means; else it is passing. */
export function lossOf(failure: BlobFailure): Extract<LossReason, "taken" | "broken" | "missing"> | undefined {
  if (LOST.has(failure.code)) return "taken";
  if (BROKEN.has(failure.code)) return "broken";
  return isGone(failure) ? "missing" : undefined;
}

/** The SDK's error as one of ours; errors of ours are left as they are. */
export function toStoreError(error: unknown, operation: string, election: string, writes: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const failure = readFailure(error);
  const { status, code, cause } = failure;
  const errorCode = storeErrorCode(status, code);
  const message = `${STORE_NAME}: '${operation}' of '${election}' failed: ${cause.message}${ADVICE[errorCode] ?? ""}`;
  const unknown = writes && (status >= 500 || status === 408 || (status === 0 && !wasNeverSent(code)));
  const details = {
    store: STORE_NAME,
    operation,
    election,
    retryAfterMs: failure.retryAfterMs,
    mayHaveBeenApplied: unknown,
    cause,
  };
  const storeError = new StoreError(errorCode, message, details);
  failures.set(storeError, failure);
  return storeError;
}

function storeErrorCode(status: number, code: string): StoreErrorCode {
  if (status === 401 || status === 403) return "STORE_DENIED";
  if (status === 404) return "STORE_MISSING";
  if (status === 408 || code === "OperationTimedOut") return "STORE_TIMEOUT";
  if (status === 429 || code === "ServerBusy" || (status === 503 && code !== "InternalError")) return "STORE_THROTTLED";
  if (status === 409 || status === 412) return "STORE_CONFLICT";
  if (status >= 400 && status < 500) return "STORE_REJECTED";
  return "STORE_UNAVAILABLE";
}
