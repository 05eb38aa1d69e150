import { ConfigurationError, isLeaseholdError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, redact, requestFailed } from "@leasehold/core/provider";

export const STORE_NAME = "firestore";

/** The canonical codes of gRPC that this module uses. https://grpc.io/docs/guides/status-codes/ */
const CODE = {
  cancelled: 1,
  unknown: 2,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

const STORE_CODES: Readonly<Record<number, StoreErrorCode>> = {
  [CODE.cancelled]: "STORE_TIMEOUT",
  [CODE.unknown]: "STORE_UNAVAILABLE",
  [CODE.deadlineExceeded]: "STORE_TIMEOUT",
  [CODE.notFound]: "STORE_MISSING",
  [CODE.permissionDenied]: "STORE_DENIED",
  [CODE.resourceExhausted]: "STORE_THROTTLED",
  [CODE.aborted]: "STORE_CONFLICT",
  [CODE.internal]: "STORE_UNAVAILABLE",
  [CODE.unavailable]: "STORE_UNAVAILABLE",
  [CODE.dataLoss]: "STORE_UNAVAILABLE",
  [CODE.unauthenticated]: "STORE_UNAUTHENTICATED",
};

/** The codes after which the commit may have been carried out. */
const UNKNOWN_OUTCOME: ReadonlySet<number> = new Set([
  CODE.cancelled,
  CODE.unknown,
  CODE.deadlineExceeded,
  CODE.internal,
  CODE.unavailable,
  CODE.dataLoss,
]);

/** Advice for errors whose message from the service has none. */
const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_UNAUTHENTICATED:
    " Give the process a service account, or run `gcloud auth application-default login` on your own machine.",
  STORE_DENIED:
    " Candidates need datastore.entities.get, .create and .update (the role Datastore User has them); observers, datastore.entities.get; list() needs datastore.entities.list, too.",
  STORE_MISSING: " Create the database first, or name the right one: databaseId in the settings of Firestore.",
};

/** Advice for a precondition that the write itself did not set. */
const STATE_ADVICE = " Another attempt does not help: change the database. It must be in Firestore's native mode.";

/** The messages of Google's authentication, before it sends anything. These errors have no code. */
const NO_PROJECT = /^Unable to detect a Project Id/;
const NO_CREDENTIALS = /^Could not load the default credentials/;

interface ServiceFailure {
  readonly code?: unknown;
  readonly details?: string;
  readonly message?: string;
}

/** Returns whether a write's precondition did not hold, which is an answer and not a failure. */
export function isConditionFailed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === CODE.alreadyExists) return true;
  // The service has the same code for a database in Datastore mode, and for any other database that refuses such writes.
  if (code === CODE.failedPrecondition) return /does not match the required base version/i.test(textOf(error));
  // The service has the same code for a missing database.
  return code === CODE.notFound && /no (document|entity) to update/i.test(textOf(error));
}

/** Returns the SDK's error as a `StoreError`. Returns an error of Leasehold unchanged. */
export function toStoreError(error: unknown, operation: string, election: string, writes: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const known = codeOf(error);
  const text = redact(textOf(error));
  if (NO_PROJECT.test(text)) return noProject(error);
  const hasNoCredentials = NO_CREDENTIALS.test(text);
  const code = hasNoCredentials ? "STORE_UNAUTHENTICATED" : storeCodeOf(known);
  const cause = Object.assign(new Error(text), known === undefined ? {} : { code: known });
  const advice = known === CODE.failedPrecondition ? STATE_ADVICE : (ADVICE[code] ?? "");
  const how = `${known === undefined ? "" : ` with gRPC code ${known}`}: ${asSentence(text)}${advice}`;
  const notApplied = hasNoCredentials || (known !== undefined && !UNKNOWN_OUTCOME.has(known));
  return requestFailed({ store: STORE_NAME, operation, election, writes }, { code, text: how, notApplied, cause });
}

/** Returns the gRPC code, which is a number. */
function codeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as ServiceFailure;
  return typeof code === "number" ? code : undefined;
}

function textOf(error: unknown): string {
  const { details, message } = (error ?? {}) as ServiceFailure;
  return details ?? message ?? String(error);
}

function storeCodeOf(code: number | undefined): StoreErrorCode {
  return code === undefined ? "STORE_UNAVAILABLE" : (STORE_CODES[code] ?? "STORE_REJECTED");
}

/**
 * Returns a final error. The SDK throws the same error if a metadata server that knows the project is down. A retry would not
 * help: the SDK has tried for about ten seconds, and a `Firestore` tries only once.
 */
function noProject(cause: unknown): ConfigurationError {
  return new ConfigurationError(
    `${STORE_NAME}: no project is set. Set GOOGLE_CLOUD_PROJECT, or give the store a client: new Firestore({ projectId }).`,
    { cause },
  );
}
