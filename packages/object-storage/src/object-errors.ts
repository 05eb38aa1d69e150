import { isLeaseholdError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, redact, requestFailed, retryAfterMs, wasNeverSent } from "@leasehold/core/provider";
import type { ObjectRequest, ObjectService } from "./object-service.ts";

/** A failure of either service in one form, without secrets. */
export interface ObjectFailure {
  /** The HTTP status; 0 if no reply came. */
  readonly status: number;
  /** The service's error code, such as `SlowDown`. Without one, the socket's code, or the error's name. */
  readonly code: string;
  readonly message: string;
  /** True if the service itself answered, and not a proxy. */
  readonly isFromService: boolean;
  readonly retryAfter?: string | undefined;
}

/** A failure of a service in the form that does not depend on the SDK. It wraps the SDK's error. */
export class ServiceFailure extends Error {
  readonly failure: ObjectFailure;

  constructor(failure: ObjectFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The failures behind the errors that {@link toStoreError} has made. */
const failures = new WeakMap<object, ObjectFailure>();

/** Returns the failure behind a service's error. Treats any other error as a request without a reply. */
export function failureOf(error: unknown): ObjectFailure {
  if (error instanceof ServiceFailure) return error.failure;
  const { name = "Error", message = "", code = name } = (error ?? {}) as { name?: string; message?: string; code?: string };
  return failures.get(error as object) ?? { status: 0, code, message, isFromService: false };
}

/** Codes whose meaning differs from that of their HTTP status, or that come without one. */
const CODES: Readonly<Record<string, StoreErrorCode>> = {
  // https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
  SlowDown: "STORE_THROTTLED",
  RequestTimeout: "STORE_TIMEOUT",
  ExpiredToken: "STORE_UNAUTHENTICATED",
  InvalidToken: "STORE_UNAUTHENTICATED",
  InvalidAccessKeyId: "STORE_UNAUTHENTICATED",
  SignatureDoesNotMatch: "STORE_UNAUTHENTICATED",
  RequestTimeTooSkewed: "STORE_UNAUTHENTICATED",
  // Errors of the SDKs, after which no request was sent.
  CredentialsProviderError: "STORE_UNAUTHENTICATED",
  NoCredentials: "STORE_UNAUTHENTICATED",
  TimeoutError: "STORE_TIMEOUT",
  AbortError: "STORE_TIMEOUT",
};

const NOT_SENT = new Set(["CredentialsProviderError", "NoCredentials", "NoTokenService"]);

const ADVICE: Readonly<Record<ObjectService["name"], Partial<Record<StoreErrorCode, string>>>> = {
  s3: {
    STORE_UNAUTHENTICATED: " Give the process a role, or name a profile (AWS_PROFILE); the machine's clock must be right, too.",
    STORE_DENIED:
      " Candidates need s3:GetObject and s3:PutObject on the objects below the prefix, and s3:ListBucket on the bucket: without it, S3 answers 403 for an object that does not exist. Observers do not need s3:PutObject.",
    STORE_MISSING: " Create the bucket first, or check its name and its region.",
  },
  gcs: {
    STORE_UNAUTHENTICATED:
      " Give the process a service account, or set GOOGLE_APPLICATION_CREDENTIALS; on a developer's machine run: gcloud auth application-default login.",
    STORE_DENIED:
      " Candidates need the role roles/storage.objectUser on the bucket; observers, roles/storage.objectViewer. A retention policy or a hold also refuses every write.",
    STORE_MISSING: " Create the bucket first, or check its name.",
  },
};

/** Returns whether the failure says that a condition was not met. Nothing was written then. */
export function isConditionFailed({ status, code }: ObjectFailure, ifVersion: string | undefined): boolean {
  // 404: the object whose version the write names was deleted. S3 has another code for a missing bucket.
  return status === 412 || (status === 404 && code !== "NoSuchBucket" && ifVersion !== undefined);
}

/** Returns whether the failure says that the object does not exist. */
export function isMissingObject({ status, code, isFromService }: ObjectFailure): boolean {
  return status === 404 && isFromService && code !== "NoSuchBucket";
}

/** Returns the failure of a request as a `StoreError`. Returns an error of Leasehold unchanged. */
export function toStoreError(
  error: unknown,
  store: ObjectService["name"],
  { operation, election }: Omit<ObjectRequest, "signal">,
  writes: boolean,
): Error {
  if (isLeaseholdError(error)) return error;
  const failure = failureOf(error);
  const { status, code: name, isFromService } = failure;
  const code = CODES[name] ?? byStatus(status);
  // The answer of another server may repeat the whole request, with its signature.
  const told = status === 0 || isFromService ? redact(failure.message) : "the answer does not come from the service";
  const message = asSentence(told);
  const isRefused = isFromService && status >= 400 && status < 500 && code !== "STORE_TIMEOUT";
  const notApplied = isRefused || wasNeverSent(name) || NOT_SENT.has(name);
  const cause = Object.assign(new Error(message), { name, ...(status === 0 ? {} : { status }) });
  const what = `${name}${status === 0 ? "" : ` (HTTP ${status})`}`;
  // A bucket may exist behind a server that gives its answers no id.
  const isForeign = code === "STORE_MISSING" && !isFromService;
  const advice = isForeign ? " Is the endpoint right, and does that service give each answer an id?" : ADVICE[store][code];
  const text = `: ${told === "" ? `${what}.` : `${what}: ${message}`}${advice ?? ""}`;
  const details = { code, text, notApplied, retryAfterMs: retryAfterMs(failure.retryAfter), cause };
  const storeError = requestFailed({ store, operation, election, writes }, details);
  failures.set(storeError, failure);
  return storeError;
}

function byStatus(status: number): StoreErrorCode {
  if (status === 401) return "STORE_UNAUTHENTICATED";
  if (status === 403) return "STORE_DENIED";
  if (status === 404) return "STORE_MISSING";
  if (status === 408) return "STORE_TIMEOUT";
  if (status === 409) return "STORE_CONFLICT";
  if (status === 429 || status === 503) return "STORE_THROTTLED";
  // 501: the service does not know a condition's header. 3xx: the bucket is in another region.
  if (status === 501 || (status >= 300 && status < 500)) return "STORE_REJECTED";
  return "STORE_UNAVAILABLE";
}

/** Returns the failure for a reply of another server. The service itself may have carried out the request. */
export function foreignAnswer(what: string): ObjectFailure {
  return { status: 0, code: "ForeignAnswer", message: `the answer is not the service's: ${what}`, isFromService: false };
}
