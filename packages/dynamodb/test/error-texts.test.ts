/** The conversion of everything that the SDK throws. */
import { StoreError, type StoreErrorCode } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { toStoreError } from "../src/dynamodb-errors.ts";

interface Meaning {
  readonly code: string;
  readonly message: string;
  readonly mayHaveBeenApplied: boolean;
}

const SERVICE = { $metadata: { httpStatusCode: 400, requestId: "r" } };

/** The service's refusals, by status and code, and their meaning. */
const REFUSALS: ReadonlyArray<readonly [status: number, name: string, code: StoreErrorCode]> = [
  [400, "ProvisionedThroughputExceededException", "STORE_THROTTLED"],
  [400, "RequestLimitExceeded", "STORE_THROTTLED"],
  [400, "ThrottlingException", "STORE_THROTTLED"],
  [400, "Throttling", "STORE_THROTTLED"],
  [429, "TooManyRequestsException", "STORE_THROTTLED"],
  [400, "LimitExceededException", "STORE_THROTTLED"],
  [400, "TransactionConflictException", "STORE_CONFLICT"],
  [400, "TransactionInProgressException", "STORE_CONFLICT"],
  [400, "ReplicatedWriteConflictException", "STORE_CONFLICT"],
  [400, "ResourceNotFoundException", "STORE_MISSING"],
  [400, "TableNotFoundException", "STORE_MISSING"],
  [400, "AccessDeniedException", "STORE_DENIED"],
  [400, "UnrecognizedClientException", "STORE_UNAUTHENTICATED"],
  [403, "InvalidClientTokenId", "STORE_UNAUTHENTICATED"],
  [400, "IncompleteSignatureException", "STORE_UNAUTHENTICATED"],
  [400, "InvalidSignatureException", "STORE_UNAUTHENTICATED"],
  [400, "MissingAuthenticationTokenException", "STORE_UNAUTHENTICATED"],
  [400, "ExpiredTokenException", "STORE_UNAUTHENTICATED"],
  [403, "OptInRequired", "STORE_DENIED"],
  [400, "ValidationException", "STORE_REJECTED"],
  [400, "SerializationException", "STORE_REJECTED"],
  [413, "RequestEntityTooLarge", "STORE_REJECTED"],
  [403, "SomethingNewException", "STORE_DENIED"],
  [401, "SomethingNewException", "STORE_UNAUTHENTICATED"],
  [408, "SomethingNewException", "STORE_TIMEOUT"],
  [429, "SomethingNewException", "STORE_THROTTLED"],
  [407, "Error", "STORE_REJECTED"],
];

test.for(REFUSALS)(
  "%d %s is %s, and may have been carried out if it is not the service's own",
  ([httpStatusCode, name, code]) => {
    const thrown = { name, message: "m", $metadata: { httpStatusCode, requestId: "r" } };
    expect(toStoreError(thrown, "put", "e", true)).toMatchObject({ code, mayHaveBeenApplied: false });
    expect(toStoreError(thrown, "get", "e", false)).toMatchObject({ code, mayHaveBeenApplied: false });
    const stranger = { ...thrown, $metadata: { httpStatusCode } };
    expect(toStoreError(stranger, "put", "e", true)).toMatchObject({ code, mayHaveBeenApplied: true });
  },
);

describe("an error of a write", () => {
  test.for<[says: string, thrown: unknown, means: Meaning]>([
    [
      "that took longer than the user's client allows",
      { name: "TimeoutError", message: "Request timed out." },
      { code: "STORE_TIMEOUT", message: "TimeoutError: Request timed out.", mayHaveBeenApplied: true },
    ],
    [
      "whose socket timed out",
      { name: "TimeoutError", message: "connect ETIMEDOUT", code: "ETIMEDOUT" },
      { code: "STORE_TIMEOUT", message: "TimeoutError: connect ETIMEDOUT.", mayHaveBeenApplied: true },
    ],
    [
      "whose connection was closed, which the SDK calls a timeout",
      { name: "TimeoutError", message: "socket hang up", code: "ECONNRESET" },
      { code: "STORE_UNAVAILABLE", message: "ECONNRESET: socket hang up.", mayHaveBeenApplied: true },
    ],
    [
      "that was aborted",
      { name: "AbortError", message: "Request aborted" },
      { code: "STORE_TIMEOUT", message: "AbortError: Request aborted.", mayHaveBeenApplied: true },
    ],
    [
      "with a code of its own",
      { name: "NewException", message: "what", code: "E_NEW" },
      { code: "STORE_UNAVAILABLE", message: "NewException: what.", mayHaveBeenApplied: true },
    ],
    [
      "of Node's",
      { name: "Error", message: "write EPROTO", code: "EPROTO" },
      { code: "STORE_UNAVAILABLE", message: "EPROTO: write EPROTO.", mayHaveBeenApplied: true },
    ],
    [
      "in the request, but not in its keys",
      { name: "ValidationException", message: "The item is too large", ...SERVICE },
      {
        code: "STORE_REJECTED",
        message: "ValidationException (HTTP 400): The item is too large.",
        mayHaveBeenApplied: false,
      },
    ],
    [
      "about keys that is not a validation error",
      { name: "SomethingNewException", message: "No such key", ...SERVICE },
      { code: "STORE_REJECTED", message: "SomethingNewException (HTTP 400): No such key.", mayHaveBeenApplied: false },
    ],
    [
      "of credentials",
      { name: "CredentialsProviderError", message: "none" },
      {
        code: "STORE_UNAUTHENTICATED",
        message:
          "CredentialsProviderError: none. Give the process a role, or name a profile (AWS_PROFILE); the machine's clock must be right, too.",
        mayHaveBeenApplied: false,
      },
    ],
  ])("%s", ([, thrown, { code, message, mayHaveBeenApplied }]) => {
    expect(toStoreError(thrown, "put", "e", true)).toMatchObject({
      code,
      message: `dynamodb: 'put' of 'e' failed: ${message}`,
      mayHaveBeenApplied,
    });
  });

  test.for([undefined, null, "a text", {}])("that is not an error object leaves the outcome unknown: %o", (thrown) => {
    expect(toStoreError(thrown, "put", "e", true)).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
  });
});

test("its cause has the SDK's name and code, and the service's answer if there is one", () => {
  const causeOf = (thrown: object): unknown => ({ ...(toStoreError(thrown, "get", "e", false).cause as object) });
  expect(causeOf({ name: "Error", message: "m", code: "EPIPE" })).toEqual({ name: "Error", code: "EPIPE" });
  expect(causeOf({ name: "X", message: "m", ...SERVICE, $response: { body: "secret" } })).toEqual({ name: "X", ...SERVICE });
});

test("an error of Leasehold is passed on unchanged", () => {
  const ours = new StoreError("STORE_TIMEOUT", "ours", { store: "dynamodb", operation: "put", mayHaveBeenApplied: true });
  expect(toStoreError(ours, "put", "e", true)).toBe(ours);
});
