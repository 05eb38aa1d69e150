import { isLeaseholdError, type StoreError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, requestFailed, wasNeverSent } from "@leasehold/core/provider";
import { EtcdFailure, WRONG_SCHEME } from "./transport.ts";

export const STORE_NAME = "etcd";

/** The gRPC statuses: https://grpc.io/docs/guides/status-codes/ */
const GRPC = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

/** The statuses after which etcd has certainly not carried out the request. After any other status it may have done so. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([
  GRPC.invalidArgument,
  GRPC.notFound,
  GRPC.permissionDenied,
  GRPC.resourceExhausted,
  GRPC.failedPrecondition,
  GRPC.outOfRange,
  GRPC.unimplemented,
  GRPC.unauthenticated,
]);

const CODES: Readonly<Record<number, StoreErrorCode>> = {
  [GRPC.invalidArgument]: "STORE_REJECTED",
  [GRPC.deadlineExceeded]: "STORE_TIMEOUT",
  [GRPC.notFound]: "STORE_MISSING",
  [GRPC.permissionDenied]: "STORE_DENIED",
  [GRPC.resourceExhausted]: "STORE_THROTTLED",
  // A transaction whose own conditions do not hold is no failure: its outcome is in the reply.
  [GRPC.failedPrecondition]: "STORE_REJECTED",
  [GRPC.aborted]: "STORE_CONFLICT",
  [GRPC.outOfRange]: "STORE_REJECTED",
  [GRPC.unimplemented]: "STORE_REJECTED",
  [GRPC.unauthenticated]: "STORE_UNAUTHENTICATED",
};

/** Words in etcd's messages that identify a failure better than its status does: api/v3rpc/rpctypes/error.go. */
const BY_WORDS: ReadonlyArray<readonly [RegExp, StoreErrorCode]> = [
  [
    /authentication failed|authentication is not enabled|user name is empty|invalid auth token|revision of auth store is old/,
    "STORE_UNAUTHENTICATED",
  ],
  [/database space exceeded/, "STORE_REJECTED"],
  [/not leader/, "STORE_UNAVAILABLE"],
  // The lease has run out meanwhile.
  [/lease not found/, "STORE_CONFLICT"],
];

/**
 * The error codes of a TLS handshake in which one side does not trust the other. Either nothing was sent, or nothing was
 * accepted.
 */
const NOT_TRUSTED = /CERT|SIGNATURE|UNABLE_TO_GET_ISSUER|UNKNOWN_CA/;
/** The error codes of a handshake with a server that does not speak TLS. */
const NO_TLS = /WRONG_VERSION|EPROTO/;

const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_UNAUTHENTICATED:
    " Check user and password and, with TLS, the certificates: tls.ca for the members' own, tls.cert and tls.key for this client's.",
  STORE_DENIED:
    " Candidates need the permission to read and to write the election's keys and those below .leasehold/, each by its prefix; observers, to read them.",
};

/** Reports whether etcd has refused the token of a request. */
export function isTokenRefused(error: unknown): boolean {
  return (
    error instanceof EtcdFailure &&
    (error.grpcCode === GRPC.unauthenticated || /invalid auth token|revision of auth store is old/.test(error.message))
  );
}

/** Reports whether the lease that a request named does not exist. */
export function isLeaseGone(error: unknown): boolean {
  return /lease not found/.test(messageOf(error));
}

/** Reports whether the lease that was to be granted exists already. */
export function isLeaseThere(error: unknown): boolean {
  return /lease already exists/.test(messageOf(error));
}

/**
 * Returns a transport's failure as a `StoreError`. Returns an error of Leasehold unchanged. `writes`: the request may have
 * changed something.
 */
export function toStoreError(error: unknown, operation: string, election: string, writes: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const failure = error instanceof EtcdFailure ? error : new EtcdFailure(String(error), { status: 0 });
  const { grpcCode, socketCode, message } = failure;
  const code = storeErrorCode(failure);
  const notApplied =
    REFUSALS.has(grpcCode) || wasNeverSent(socketCode) || (socketCode !== undefined && NOT_TRUSTED.test(socketCode));
  const text = `: ${asSentence(message)}${adviceFor(failure, code)}`;
  return requestFailed({ store: STORE_NAME, operation, election, writes }, { code, text, notApplied, cause: failure });
}

function storeErrorCode({ status, grpcCode, socketCode, message }: EtcdFailure): StoreErrorCode {
  if (socketCode !== undefined) return NOT_TRUSTED.test(socketCode) ? "STORE_UNAUTHENTICATED" : "STORE_UNAVAILABLE";
  // Another program has answered, such as a proxy or another service on that port.
  if (grpcCode === undefined)
    return status === 404 ? "STORE_MISSING" : status === 401 ? "STORE_UNAUTHENTICATED" : "STORE_UNAVAILABLE";
  return BY_WORDS.find(([words]) => words.test(message))?.[1] ?? CODES[grpcCode] ?? "STORE_UNAVAILABLE";
}

function adviceFor({ grpcCode, socketCode, status, message }: EtcdFailure, code: StoreErrorCode): string {
  if (socketCode !== undefined && NO_TLS.test(socketCode)) return ` ${WRONG_SCHEME["https:"]}`;
  if (grpcCode === undefined && status === 404)
    return " etcd 3.4 or later has its JSON gateway there, unless --enable-grpc-gateway=false.";
  if (grpcCode === undefined && status === 400) return ` ${WRONG_SCHEME["http:"]}`;
  if (/user name is empty/.test(message)) return " etcd's authentication is on: give user and password.";
  if (/authentication is not enabled/.test(message))
    return " Leave user and password out, or turn etcd's authentication on: 'etcdctl auth enable'.";
  if (/database space exceeded/.test(message))
    return " Compact and defragment the members, then disarm the alarm: see etcd's guide to maintenance.";
  return ADVICE[code] ?? "";
}

/** Returns the message of the failure behind an error that {@link toStoreError} has made. */
function messageOf(error: unknown): string {
  const cause = (error as Partial<StoreError> | undefined)?.cause;
  return cause instanceof EtcdFailure ? cause.message : "";
}
