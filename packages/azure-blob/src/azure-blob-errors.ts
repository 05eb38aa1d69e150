import { isLeaseholdError, type LossReason, type StoreErrorCode } from "@leasehold/core";
import { asSentence, redact, requestFailed, retryAfterMs, wasNeverSent } from "@leasehold/core/provider";

export const STORE_NAME = "azure-blob";

/** The contents of an error of the SDK, without secrets. */
export interface BlobFailure {
  /** The HTTP status; 0 if no reply came. */
  readonly status: number;
  /** The service's error code, or the socket's. */
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  /** True if the service itself answered. Its replies have a request id; those of a proxy or a captive portal do not. */
  readonly fromService: boolean;
  /** An error with the same meaning, but without the request, whose headers contain the lease id. */
  readonly cause: Error;
}

/**
 * The codes of 409 and 412, by their meaning for a holder. They include those of the service's emulator.
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
const CONDITION = new Set(["ConditionNotMet", "TargetConditionNotMet"]);
/** The codes of 409 after which a later attempt may succeed. A 409 or 412 with a code that no set contains is a refusal. */
const PASSING = new Set(["AccountBeingCreated", "PendingCopyOperation"]);

/** The failures behind the errors that {@link toStoreError} has made. */
const failures = new WeakMap<object, BlobFailure>();

/**
 * Returns the failure behind an error that {@link toStoreError} has made. Any other error gives no information about the lease.
 */
export function failureOf(error: unknown): BlobFailure {
  const failure = typeof error === "object" && error !== null ? failures.get(error) : undefined;
  return failure ?? { status: 0, code: "Unknown", retryAfterMs: undefined, fromService: false, cause: error as Error };
}

/** Ignores the failure of a creation if the blob or container exists already. */
export function unlessItExists(error: unknown): void {
  if (!alreadyExists(failureOf(error))) throw error;
}

/** The codes of 403 that refuse the caller's identity, and not its permissions. */
const UNKNOWN_CALLER = new Set(["AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"]);
/** The names of the errors of `@azure/identity`. After these no request was sent. */
const NO_CREDENTIALS = new Set([
  "CredentialUnavailableError",
  "AuthenticationRequiredError",
  "AuthenticationError",
  "AggregateAuthenticationError",
]);

/** Advice for errors whose message from the service has none. */
const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_MISSING: " Create the container first, or check its name; createContainer: true has the first candidate create it.",
  STORE_UNAUTHENTICATED:
    " Check the account's name and key, or the identity that this process runs under; the machine's clock must be right, too.",
  STORE_DENIED: " Candidates need the role Storage Blob Data Contributor on the container; observers, Storage Blob Data Reader.",
};

/** Advice for a 409 or 412 of the service that no later attempt can pass, by its code. */
const ADVICE_BY_CODE: Readonly<Record<string, string>> = {
  BlobImmutableDueToPolicy:
    " An immutability policy or a legal hold keeps the blobs of this container from being changed: use a container without either.",
  InvalidBlobType: " A blob of another type has this name: use another container, or remove that blob.",
  SnapshotsPresent: " The blob has snapshots: delete them first.",
  BlobArchived: " The blob is in the archive tier: set its tier to hot, and keep lifecycle rules away from this container.",
  BlobBeingRehydrated: " The blob is on its way out of the archive tier: keep lifecycle rules away from this container.",
  ContainerBeingDeleted:
    " Its container is being deleted, which takes half a minute or more: use another one, or create it again.",
};
const ADVICE_FOR_UNKNOWN_CODE =
  " Another attempt does not help: look this code up among the error codes of Blob Storage, and change the blob or its container.";

/** The SDK's name for an error whose reply has no code. */
const NO_CODE = "RestError";

/** Reads the SDK's error. The reply to a HEAD has no body, so its code is in `details` or in a header. */
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
  // The answer of another server may repeat the whole request, with its signature.
  const text = status !== 0 && requestId === undefined ? "the answer does not come from the service" : redact(message ?? "");
  const cause = new Error(
    `${serviceCode}${status ? ` (HTTP ${status})` : ""}${text ? `: ${asSentence(text)}` : "."}${requestId ? ` [request ${requestId}]` : ""}`,
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

/** Returns whether another candidate's lease is in force, or is still breaking. */
export function isTaken({ code }: BlobFailure): boolean {
  return TAKEN.has(code);
}

/**
 * Returns whether a creation failed because the blob or container exists. For a leased blob, the service has two codes for this.
 */
function alreadyExists({ status, code }: BlobFailure): boolean {
  return (status === 409 || status === 412) && EXISTS.has(code);
}

/** Returns whether the blob or its container is missing. */
export function isGone({ status, code, fromService }: BlobFailure): boolean {
  return fromService && (GONE.has(code) || status === 404);
}

export function isContainerGone({ code }: BlobFailure): boolean {
  return code === "ContainerNotFound";
}

/** Returns whether an `ifMatch` or `ifNoneMatch` did not hold. A 412 with another code means something else. */
export function conditionFailed({ status, code }: Pick<BlobFailure, "status" | "code">): boolean {
  return CONDITION.has(code) || (status === 412 && code === NO_CODE);
}

/** Returns how the lease was lost; `undefined` if the failure of the holder's request is transient. */
export function lossOf(failure: BlobFailure): Extract<LossReason, "taken" | "broken" | "missing"> | undefined {
  if (LOST.has(failure.code)) return "taken";
  if (BROKEN.has(failure.code)) return "broken";
  return isGone(failure) ? "missing" : undefined;
}

/**
 * Returns the SDK's error as a `StoreError`. Returns an error of Leasehold unchanged. @param writes true if the request may have
 * changed something.
 */
export function toStoreError(error: unknown, operation: string, election: string, writes: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const failure = readFailure(error);
  const { status, code, fromService, cause } = failure;
  const errorCode = storeErrorCode(status, code);
  // Only a refusal by the service itself proves that nothing was written. Another server in its place may answer with a 4xx too.
  const isRefused = fromService && status >= 400 && status < 500 && status !== 408;
  const notApplied = isRefused || wasNeverSent(code) || NO_CREDENTIALS.has(code);
  const text = `: ${cause.message}${adviceFor(failure, errorCode)}`;
  const details = { code: errorCode, text, notApplied, retryAfterMs: failure.retryAfterMs, cause };
  const storeError = requestFailed({ store: STORE_NAME, operation, election, writes }, details);
  failures.set(storeError, failure);
  return storeError;
}

function adviceFor({ status, code, fromService }: BlobFailure, errorCode: StoreErrorCode): string {
  const isState = fromService && (status === 409 || status === 412);
  if (!isState || errorCode === "STORE_CONFLICT") return ADVICE[errorCode] ?? "";
  return ADVICE_BY_CODE[code] ?? ADVICE[errorCode] ?? ADVICE_FOR_UNKNOWN_CODE;
}

function storeErrorCode(status: number, code: string): StoreErrorCode {
  // If no credentials were obtained, the status is that of the service that issues tokens.
  const isTokenServiceDown = status === 429 || status >= 500;
  if (NO_CREDENTIALS.has(code)) return isTokenServiceDown ? "STORE_UNAVAILABLE" : "STORE_UNAUTHENTICATED";
  if (status === 401 || UNKNOWN_CALLER.has(code)) return "STORE_UNAUTHENTICATED";
  if (status === 403) return "STORE_DENIED";
  if (status === 404 || (status === 409 && GONE.has(code))) return "STORE_MISSING";
  if (status === 408 || code === "OperationTimedOut") return "STORE_TIMEOUT";
  if (status === 429 || code === "ServerBusy" || (status === 503 && code !== "InternalError")) return "STORE_THROTTLED";
  if ((status === 409 || status === 412) && isPassingConflict(status, code)) return "STORE_CONFLICT";
  if (status >= 400 && status < 500) return "STORE_REJECTED";
  return "STORE_UNAVAILABLE";
}

/** Returns whether a 409 or 412 is caused by other clients at the moment, so that a later attempt may pass. */
function isPassingConflict(status: number, code: string): boolean {
  if (code === "BlobImmutableDueToPolicy") return false;
  if (conditionFailed({ status, code })) return true;
  return [LOST, BROKEN, TAKEN, EXISTS, PASSING].some((codes) => codes.has(code));
}
