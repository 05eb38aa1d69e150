import { ConfigurationError, isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, discreet } from "@leasehold/core/provider";

export const STORE_NAME = "firestore";

/** The canonical codes of gRPC that matter here. https://grpc.io/docs/guides/status-codes/ */
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

/** The codes after which the commit may have been carried out all the same. */
const UNKNOWN_OUTCOME: ReadonlySet<number> = new Set([
  CODE.cancelled,
  CODE.unknown,
  CODE.deadlineExceeded,
  CODE.internal,
  CODE.unavailable,
  CODE.dataLoss,
]);

/** Advice, where the service's own words give none. */
const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_UNAUTHENTICATED:
    " Give the process a service account, or run `gcloud auth application-default login` on your own machine.",
  STORE_DENIED:
    " Candidates need datastore.entities.get, .create and .update (the role Datastore User has them); observers, datastore.entities.get.",
  STORE_MISSING: " Create the database first, or name the right one: databaseId in the settings of Firestore.",
};

/** Advice for a precondition that is not the write's own. */
const STATE_ADVICE = " Another attempt does not help: change the database. It must be in Firestore's native mode.";

/** What Google's authentication says before it sends anything; its errors have no code. */
const NO_PROJECT = /^Unable to detect a Project Id/;
const NO_CREDENTIALS = /^Could not load the default credentials/;

interface Failure {
  readonly code?: unknown;
  readonly details?: string;
  readonly message?: string;
}

/** Reports whether a write's precondition did not hold: an answer, not a failure. */
export function isConditionFailed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === CODE.alreadyExists) return true;
  // The same code stands for a database in Datastore mode, and for others that take no such write.
  if (code === CODE.failedPrecondition) return /does not match the required base version/i.test(textOf(error));
  // The same code stands for a whole database that is missing.
  return code === CODE.notFound && /no (document|entity) to update/i.test(textOf(error));
}

/** Returns the SDK's error as one of ours, and an error of ours as it is. */
export function toStoreError(error: unknown, operation: string, election: string, writes: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const known = codeOf(error);
  const text = discreet(textOf(error));
  if (NO_PROJECT.test(text)) return noProject(error);
  const hasNoCredentials = NO_CREDENTIALS.test(text);
  const storeCode = hasNoCredentials ? "STORE_UNAUTHENTICATED" : storeCodeOf(known);
  const cause = Object.assign(new Error(text), known === undefined ? {} : { code: known });
  return new StoreError(
    storeCode,
    `${STORE_NAME}: '${operation}' of '${election}' failed${known === undefined ? "" : ` with gRPC code ${known}`}: ${asSentence(text)}${known === CODE.failedPrecondition ? STATE_ADVICE : (ADVICE[storeCode] ?? "")}`,
    {
      store: STORE_NAME,
      operation,
      election,
      mayHaveBeenApplied: writes && !hasNoCredentials && (known === undefined || UNKNOWN_OUTCOME.has(known)),
      cause,
    },
  );
}

/** Returns the code of gRPC, which is a number. */
function codeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as Failure;
  return typeof code === "number" ? code : undefined;
}

function textOf(error: unknown): string {
  const { details, message } = (error ?? {}) as Failure;
  return details ?? message ?? String(error);
}

function storeCodeOf(code: number | undefined): StoreErrorCode {
  return code === undefined ? "STORE_UNAVAILABLE" : (STORE_CODES[code] ?? "STORE_REJECTED");
}

/**
 * Final also where a metadata server was to tell the project and is down, which the SDK calls the same: it has asked that server
 * for some ten seconds, and a Firestore asks once.
 */
function noProject(cause: unknown): ConfigurationError {
  return new ConfigurationError(
    `${STORE_NAME}: no project is set. Set GOOGLE_CLOUD_PROJECT, or give the store a client: new Firestore({ projectId }).`,
    { cause },
  );
}
