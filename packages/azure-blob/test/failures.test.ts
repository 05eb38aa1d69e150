import { StoreError, type StoreErrorCode } from "@leasehold/core";
import { mayHaveBeenApplied } from "@leasehold/core/provider";
import { describe, expect, it } from "vitest";
import {
  conditionFailed,
  failureOf,
  isContainerGone,
  isGone,
  isTaken,
  lossOf,
  toStoreError,
  unlessItExists,
  type BlobFailure,
} from "../src/azure-blob-errors.ts";

interface Reply {
  readonly status?: number;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns an error as the SDK throws it. With a status, the service itself has answered, unless `stranger` is true. */
function sdkError({ status, code, headers = {} }: Reply, stranger = false): Error {
  const all: Record<string, string> = { ...(status && !stranger ? { "x-ms-request-id": "r1" } : {}), ...headers };
  return Object.assign(new Error("The words.\nRequestId:1"), {
    name: "RestError",
    ...(status === undefined ? {} : { statusCode: status, response: { headers: { get: (name: string) => all[name] } } }),
    ...(code === undefined ? {} : { code }),
  });
}

function told(reply: Reply, { stranger = false, writes = true } = {}): StoreError {
  return toStoreError(sdkError(reply, stranger), "renew", "e", writes) as StoreError;
}

function failure(status: number, code: string): BlobFailure {
  return failureOf(told({ status, code }));
}

describe("a failure of Azure's SDK", () => {
  it.each<readonly [status: number | undefined, code: string | undefined, is: StoreErrorCode, mayHaveBeenApplied: boolean]>([
    [400, "InvalidHeaderValue", "STORE_REJECTED", false],
    [401, "NoAuthenticationInformation", "STORE_UNAUTHENTICATED", false],
    [401, "Other", "STORE_UNAUTHENTICATED", false],
    [400, "InvalidAuthenticationInfo", "STORE_UNAUTHENTICATED", false],
    [403, "NoAuthenticationInformation", "STORE_UNAUTHENTICATED", false],
    [403, "AuthenticationFailed", "STORE_UNAUTHENTICATED", false],
    [403, "AuthorizationFailure", "STORE_DENIED", false],
    [404, "BlobNotFound", "STORE_MISSING", false],
    [408, "RequestTimeout", "STORE_TIMEOUT", true],
    [500, "OperationTimedOut", "STORE_TIMEOUT", true],
    [409, "AccountBeingCreated", "STORE_CONFLICT", false],
    [409, "PendingCopyOperation", "STORE_CONFLICT", false],
    [409, "LeaseAlreadyPresent", "STORE_CONFLICT", false],
    [412, "LeaseLost", "STORE_CONFLICT", false],
    [409, "LeaseIsBreakingAndCannotBeChanged", "STORE_CONFLICT", false],
    [409, "BlobAlreadyExists", "STORE_CONFLICT", false],
    [409, "TargetConditionNotMet", "STORE_CONFLICT", false],
    [412, "ConditionNotMet", "STORE_CONFLICT", false],
    [412, undefined, "STORE_CONFLICT", false],
    [409, "ContainerBeingDeleted", "STORE_MISSING", false],
    [409, "BlobImmutableDueToPolicy", "STORE_REJECTED", false],
    [409, "Unheard", "STORE_REJECTED", false],
    [412, "Unheard", "STORE_REJECTED", false],
    [409, undefined, "STORE_REJECTED", false],
    [416, "InvalidRange", "STORE_REJECTED", false],
    [429, "TooManyRequests", "STORE_THROTTLED", false],
    [499, "Whatever", "STORE_REJECTED", false],
    [500, "InternalError", "STORE_UNAVAILABLE", true],
    [500, "ServerBusy", "STORE_THROTTLED", true],
    [502, undefined, "STORE_UNAVAILABLE", true],
    [503, "InternalError", "STORE_UNAVAILABLE", true],
    [503, "Whatever", "STORE_THROTTLED", true],
    [302, "Whatever", "STORE_UNAVAILABLE", true],
    [undefined, "ECONNRESET", "STORE_UNAVAILABLE", true],
    [undefined, "ECONNREFUSED", "STORE_UNAVAILABLE", false],
    [undefined, undefined, "STORE_UNAVAILABLE", true],
  ])("%s %s is %s, and may have been applied: %s", (status, code, is, mayHave) => {
    const reply = { ...(status === undefined ? {} : { status }), ...(code === undefined ? {} : { code }) };
    const error = told(reply);
    expect(error).toMatchObject({
      code: is,
      store: "azure-blob",
      operation: "renew",
      election: "e",
      mayHaveBeenApplied: mayHave,
    });
    expect(mayHaveBeenApplied(error)).toBe(mayHave);
    expect(told(reply, { writes: false }).mayHaveBeenApplied).toBe(false);
    // Another server in the service's place proves nothing.
    if (status !== undefined) expect(told(reply, { stranger: true })).toMatchObject({ code: is, mayHaveBeenApplied: true });
  });

  it.each<readonly [name: string, status: number | undefined, is: StoreErrorCode]>([
    ["CredentialUnavailableError", undefined, "STORE_UNAUTHENTICATED"],
    ["AuthenticationRequiredError", undefined, "STORE_UNAUTHENTICATED"],
    ["AuthenticationError", 400, "STORE_UNAUTHENTICATED"],
    ["AggregateAuthenticationError", 499, "STORE_UNAUTHENTICATED"],
    ["AuthenticationError", 429, "STORE_UNAVAILABLE"],
    ["AuthenticationError", 500, "STORE_UNAVAILABLE"],
    ["AuthenticationError", 503, "STORE_UNAVAILABLE"],
  ])("of the identity, %s with %s, is %s, and nothing was sent", (name, statusCode, is) => {
    const error = toStoreError(Object.assign(new Error("no token"), { name, statusCode }), "renew", "e", true);
    expect(error).toMatchObject({ code: is, mayHaveBeenApplied: false });
  });

  it("takes its code from the details, or else from the header, the error's code, or its name", () => {
    const headers = { "x-ms-error-code": "FromHeader" };
    const detailed = Object.assign(sdkError({ status: 409, code: "Own", headers }), { details: { errorCode: "FromDetails" } });
    expect(failureOf(toStoreError(detailed, "x", "e", true)).code).toBe("FromDetails");
    expect(failureOf(told({ status: 409, code: "Own", headers })).code).toBe("FromHeader");
    expect(failureOf(told({ status: 409, code: "Own" })).code).toBe("Own");
    expect(failureOf(told({ status: 409 })).code).toBe("RestError");
    expect(failureOf(toStoreError(undefined, "x", "e", true))).toMatchObject({ code: "Unknown", status: 0, fromService: false });
  });

  it.each<readonly [Reply, boolean, string]>([
    [{ status: 410, code: "C" }, false, "azure-blob: 'renew' of 'e' failed: C (HTTP 410): The words. [request r1]"],
    [
      { status: 409, code: "C" },
      true,
      "azure-blob: 'renew' of 'e' failed: C (HTTP 409): the answer does not come from the service.",
    ],
    [{ code: "ECONNRESET" }, false, "azure-blob: 'renew' of 'e' failed: ECONNRESET: The words."],
    [{}, false, "azure-blob: 'renew' of 'e' failed: RestError: The words."],
  ])("says what the service said, and nothing of what a stranger did: %j", (reply, stranger, words) => {
    const { message, cause } = told(reply, { stranger });
    expect(message).toBe(words);
    expect(cause).toMatchObject({ name: "RestError", message: words.slice("azure-blob: 'renew' of 'e' failed: ".length) });
  });

  it.each<readonly [status: number, code: string, advice: string]>([
    [401, "Other", "Check the account's name and key, or the identity that this process runs under;"],
    [403, "Other", "Candidates need the role Storage Blob Data Contributor on the container;"],
    [404, "ContainerNotFound", "Create the container first, or check its name; createContainer: true has"],
    [409, "BlobImmutableDueToPolicy", "An immutability policy or a legal hold keeps the blobs"],
    [412, "BlobImmutableDueToPolicy", "An immutability policy or a legal hold keeps the blobs"],
    [409, "InvalidBlobType", "A blob of another type has this name: use another container, or remove that blob."],
    [409, "SnapshotsPresent", "The blob has snapshots: delete them first."],
    [409, "BlobArchived", "The blob is in the archive tier: set its tier to hot,"],
    [409, "BlobBeingRehydrated", "The blob is on its way out of the archive tier: keep lifecycle rules away"],
    [409, "ContainerBeingDeleted", "Its container is being deleted, which takes half a minute or more: use another one,"],
    [409, "Unheard", "Another attempt does not help: look this code up among the error codes"],
    [412, "Unheard", "Another attempt does not help: look this code up among the error codes"],
  ])("%d %s has advice after the words of the service", (status, code, advice) => {
    expect(told({ status, code }).message).toContain(`failed: ${code} (HTTP ${status}): The words. [request r1] ${advice}`);
  });

  it("ends with a full stop, also without a message or with one of a socket, and has the name Error if it has no name", () => {
    const refused = toStoreError(new Error("connect ECONNREFUSED 127.0.0.1:1"), "x", "e", true);
    expect(refused.message).toMatch(/ECONNREFUSED 127\.0\.0\.1:1\.$/);
    const error = toStoreError({ code: "X" }, "x", "e", true) as StoreError;
    expect(error.cause).toMatchObject({ name: "Error", message: "X." });
  });

  it("has the time to wait if the reply has it", () => {
    expect(told({ status: 503, headers: { "retry-after": "7" } }).retryAfterMs).toBe(7_000);
    expect(told({ status: 503 }).retryAfterMs).toBeUndefined();
  });

  it("that is already an error of Leasehold is unchanged, and gives no information about the lease", () => {
    const ours = new StoreError("STORE_TIMEOUT", "late", { store: "s", operation: "o", election: "e", mayHaveBeenApplied: true });
    expect(toStoreError(ours, "renew", "e", true)).toBe(ours);
    for (const error of [ours, undefined, null, "text"])
      expect(failureOf(error)).toEqual({
        status: 0,
        code: "Unknown",
        retryAfterMs: undefined,
        fromService: false,
        cause: error,
      });
    expect(mayHaveBeenApplied(undefined)).toBe(false);
  });
});

describe("a failure of the service's", () => {
  it.each<readonly [status: number, code: string, loss: string | undefined]>([
    [409, "LeaseLost", "taken"],
    [409, "LeaseIdMismatchWithLeaseOperation", "taken"],
    [412, "LeaseIdMismatchWithBlobOperation", "taken"],
    [409, "LeaseNotPresentWithLeaseOperation", "taken"],
    [412, "LeaseNotPresentWithBlobOperation", "taken"],
    [412, "LeaseIdMissing", "taken"],
    [409, "LeaseIsBrokenAndCannotBeRenewed", "broken"],
    [409, "LeaseIsBreakingAndCannotBeChanged", "broken"],
    [412, "LeaseAlreadyBroken", "broken"],
    [404, "Whatever", "missing"],
    [409, "BlobNotFound", "missing"],
    [409, "ContainerNotFound", "missing"],
    [409, "ContainerBeingDeleted", "missing"],
    [403, "ContainerDisabled", "missing"],
    [409, "ResourceNotFound", "missing"],
    [412, "ConditionNotMet", undefined],
    [500, "InternalError", undefined],
  ])("%d %s loses a holder its lease as %s", (status, code, loss) => {
    expect(lossOf(failure(status, code))).toBe(loss);
    expect(isGone(failure(status, code))).toBe(loss === "missing");
    // An answer of another server never does.
    expect(isGone(failureOf(told({ status, code }, { stranger: true })))).toBe(false);
  });

  it.each<readonly [status: number, code: string, fails: boolean]>([
    [304, "ConditionNotMet", true],
    [409, "TargetConditionNotMet", true],
    [412, "RestError", true],
    [409, "RestError", false],
    [412, "Whatever", false],
    [412, "LeaseLost", false],
    [412, "LeaseAlreadyBroken", false],
  ])("%d %s is a condition that did not hold: %s", (status, code, fails) => {
    expect(conditionFailed(failure(status, code))).toBe(fails);
  });

  it.each<readonly [status: number, code: string, exists: boolean]>([
    [409, "BlobAlreadyExists", true],
    [409, "ContainerAlreadyExists", true],
    [412, "LeaseIdMissing", true],
    [409, "BlobImmutableDueToPolicy", true],
    [400, "BlobAlreadyExists", false],
    [409, "Whatever", false],
    [412, "Whatever", false],
  ])("%d %s of a creation says that it is there: %s", (status, code, exists) => {
    const error = told({ status, code });
    if (exists) expect(() => unlessItExists(error)).not.toThrow();
    else expect(() => unlessItExists(error)).toThrow(error);
  });

  it("means a taken lease or a missing container, by its code", () => {
    const codes = ["LeaseAlreadyPresent", "LeaseIsBreakingAndCannotBeAcquired", "LeaseLost", "ContainerNotFound", "BlobNotFound"];
    expect(codes.map((code) => isTaken(failure(409, code)))).toEqual([true, true, false, false, false]);
    expect(codes.map((code) => isContainerGone(failure(404, code)))).toEqual([false, false, false, true, false]);
  });
});
