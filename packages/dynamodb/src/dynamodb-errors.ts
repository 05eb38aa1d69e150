import { ConfigurationError, isLeaseholdError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, redact, requestFailed, retryAfterMs, wasNeverSent } from "@leasehold/core/provider";

export const STORE_NAME = "dynamodb";

/** A closed connection. The SDK calls it a TimeoutError, although no time-out has passed. */
const CLOSED = new Set(["ECONNRESET", "EPIPE"]);

/**
 * The meanings of the service's errors.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
 */
const CODES: Readonly<Record<string, StoreErrorCode>> = {
  ProvisionedThroughputExceededException: "STORE_THROTTLED",
  RequestLimitExceeded: "STORE_THROTTLED",
  ThrottlingException: "STORE_THROTTLED",
  Throttling: "STORE_THROTTLED",
  TooManyRequestsException: "STORE_THROTTLED",
  LimitExceededException: "STORE_THROTTLED",
  TransactionConflictException: "STORE_CONFLICT",
  TransactionInProgressException: "STORE_CONFLICT",
  ReplicatedWriteConflictException: "STORE_CONFLICT",
  ResourceNotFoundException: "STORE_MISSING",
  TableNotFoundException: "STORE_MISSING",
  AccessDeniedException: "STORE_DENIED",
  UnrecognizedClientException: "STORE_UNAUTHENTICATED",
  InvalidClientTokenId: "STORE_UNAUTHENTICATED",
  IncompleteSignatureException: "STORE_UNAUTHENTICATED",
  InvalidSignatureException: "STORE_UNAUTHENTICATED",
  MissingAuthenticationTokenException: "STORE_UNAUTHENTICATED",
  ExpiredTokenException: "STORE_UNAUTHENTICATED",
  OptInRequired: "STORE_DENIED",
  CredentialsProviderError: "STORE_UNAUTHENTICATED",
  TimeoutError: "STORE_TIMEOUT",
};

/** Advice for errors whose message from the service has none. */
const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_UNAUTHENTICATED: " Give the process a role, or name a profile (AWS_PROFILE); the machine's clock must be right, too.",
  STORE_DENIED:
    " Candidates need dynamodb:GetItem and dynamodb:UpdateItem on the table (and dynamodb:ConditionCheckItem for fenced writes); observers, dynamodb:GetItem; list() needs dynamodb:Scan.",
  STORE_MISSING: " Deploy the table first, or call createTable() in development; check the region, too.",
};

/** Advice for `createTable()`, the only operation without an election. */
const CREATION_RIGHTS = " createTable() needs dynamodb:CreateTable and dynamodb:DescribeTable.";

/** Advice for a table with other keys. DynamoDB refuses every request to such a table. */
const KEY_ADVICE =
  " The table's partition key must be the string 'election', and its sort key the string 'entry'. Keys of a table cannot be changed: create another table.";

/** The fields of an SDK's error that this module reads. */
interface ServiceFailure {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** Returns the SDK's error as a `StoreError`. Returns an error of Leasehold unchanged. */
export function toStoreError(error: unknown, operation: string, election: string | undefined, writes: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const { name = "Error", code: socketCode, message = "", $metadata, $response } = (error ?? {}) as ServiceFailure;
  if (message === NO_REGION) return noRegion(error);
  const status = $metadata?.httpStatusCode ?? 0;
  const closed = socketCode !== undefined && CLOSED.has(socketCode);
  const code = (closed ? undefined : CODES[name]) ?? byStatus(status, name);
  // Only a refusal by the service itself proves that nothing was written. Another server in its place may answer with a 4xx too.
  const refused = status >= 400 && status < 500 && $metadata?.requestId !== undefined;
  const notSent = name === "CredentialsProviderError" || wasNeverSent(socketCode);
  const rights = election === undefined && code === "STORE_DENIED" ? CREATION_RIGHTS : ADVICE[code];
  const advice = name === "ValidationException" && /\bkeys?\b/i.test(message) ? KEY_ADVICE : (rights ?? "");
  const what = (closed || name === "Error") && socketCode !== undefined ? socketCode : name;
  const text = `: ${what}${status ? ` (HTTP ${status})` : ""}: ${asSentence(redact(message))}${advice}`;
  const askedMs = retryAfterMs($response?.headers?.["retry-after"]);
  const failure = { code, text, notApplied: refused || notSent, retryAfterMs: askedMs, cause: withoutRequest(error) };
  return requestFailed({ store: STORE_NAME, operation, election, writes }, failure);
}

/** The message of the SDK's plain `Error` for the first request of a client without a region. */
const NO_REGION = "Region is missing";

function noRegion(cause: unknown): ConfigurationError {
  return new ConfigurationError(
    `${STORE_NAME}: no region is set. Set AWS_REGION, or give the store a client: new DynamoDBClient({ region }).`,
    { cause },
  );
}

function byStatus(status: number, name: string): StoreErrorCode {
  if (status === 401) return "STORE_UNAUTHENTICATED";
  if (status === 403) return "STORE_DENIED";
  if (status === 408) return "STORE_TIMEOUT";
  if (status === 429) return "STORE_THROTTLED";
  if (status >= 400 && status < 500) return "STORE_REJECTED";
  return name === "AbortError" ? "STORE_TIMEOUT" : "STORE_UNAVAILABLE";
}

/** Returns an error with the same meaning, but without the request and the response. Those contain signatures and nonces. */
function withoutRequest(error: unknown): Error {
  const { name = "Error", message = "", code, $metadata } = (error ?? {}) as ServiceFailure;
  const { httpStatusCode, requestId } = $metadata ?? {};
  const cause = new Error(asSentence(redact(message)));
  return Object.assign(cause, {
    name,
    ...(code === undefined ? {} : { code }),
    ...(httpStatusCode === undefined ? {} : { $metadata: { httpStatusCode, requestId } }),
  });
}
