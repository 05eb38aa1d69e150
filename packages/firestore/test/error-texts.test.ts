/** The conversion of everything that the SDK throws. */
import { StoreError, type StoreErrorCode } from "@leasehold/core";
import { expect, test } from "vitest";
import { isConditionFailed, toStoreError } from "../src/firestore-errors.ts";

const NOT_FOUND = 5;

/** The codes of gRPC: https://grpc.io/docs/guides/status-codes/ */
test.for<[code: number, name: string, is: StoreErrorCode, mayHaveBeenApplied: boolean, says: RegExp]>([
  [1, "CANCELLED", "STORE_TIMEOUT", true, /The words of \w+\.$/],
  [2, "UNKNOWN", "STORE_UNAVAILABLE", true, /The words of \w+\.$/],
  [3, "INVALID_ARGUMENT", "STORE_REJECTED", false, /The words of \w+\.$/],
  [4, "DEADLINE_EXCEEDED", "STORE_TIMEOUT", true, /The words of \w+\.$/],
  [5, "NOT_FOUND", "STORE_MISSING", false, /Create the database first.*databaseId/],
  [7, "PERMISSION_DENIED", "STORE_DENIED", false, /datastore\.entities\.get.*Datastore User/],
  [8, "RESOURCE_EXHAUSTED", "STORE_THROTTLED", false, /The words of \w+\.$/],
  [10, "ABORTED", "STORE_CONFLICT", false, /The words of \w+\.$/],
  [11, "OUT_OF_RANGE", "STORE_REJECTED", false, /The words of \w+\.$/],
  [12, "UNIMPLEMENTED", "STORE_REJECTED", false, /The words of \w+\.$/],
  [13, "INTERNAL", "STORE_UNAVAILABLE", true, /The words of \w+\.$/],
  [14, "UNAVAILABLE", "STORE_UNAVAILABLE", true, /The words of \w+\.$/],
  [15, "DATA_LOSS", "STORE_UNAVAILABLE", true, /The words of \w+\.$/],
  [16, "UNAUTHENTICATED", "STORE_UNAUTHENTICATED", false, /service account/],
])("%d %s is %s, and may have been applied: %s", ([code, name, is, mayHaveBeenApplied, says]) => {
  const thrown = { code, details: `The words of ${name}\nand what nobody needs` };
  const error = toStoreError(thrown, "put", "e", true);
  expect(error).toMatchObject({ code: is, store: "firestore", operation: "put", election: "e", mayHaveBeenApplied });
  expect(error.message).toContain(`firestore: 'put' of 'e' failed with gRPC code ${code}: The words of ${name}.`);
  expect(error.message).toMatch(says);
  expect(toStoreError(thrown, "get", "e", false)).toMatchObject({ code: is, mayHaveBeenApplied: false });
});

test.for<[thrown: unknown, text: string]>([
  [{ details: "the details", message: "5 NOT_FOUND: the details" }, "the details."],
  [new Error("the message"), "the message."],
  ["a text", "a text."],
  [undefined, "undefined."],
  [null, "null."],
])("%o is shown with its own text", ([thrown, text]) => {
  expect(toStoreError(thrown, "put", "e", true)).toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: `firestore: 'put' of 'e' failed: ${text}`,
    mayHaveBeenApplied: true,
  });
});

test("a code that is not gRPC's is not shown", () => {
  const error = toStoreError(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }), "get", "e", false);
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: "firestore: 'get' of 'e' failed: getaddrinfo." });
  expect(error.cause).not.toHaveProperty("code");
});

test("without credentials nothing was written", () => {
  const thrown = new Error("Could not load the default credentials. Browse to …");
  expect(toStoreError(thrown, "put", "e", true)).toMatchObject({ code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false });
});

test("an error of Leasehold is passed on unchanged", () => {
  const ours = new StoreError("STORE_TIMEOUT", "ours", { store: "firestore", operation: "put", mayHaveBeenApplied: true });
  expect(toStoreError(ours, "put", "e", true)).toBe(ours);
});

test.for<[thrown: unknown, failed: boolean]>([
  [{ code: NOT_FOUND, details: "No document to update: x" }, true],
  [{ code: NOT_FOUND, message: "no entity to update: x" }, true],
  [{ code: NOT_FOUND, details: "The database (default) does not exist." }, false],
  [{ code: NOT_FOUND }, false],
  [{ code: 13, details: "No document to update: x" }, false],
  [{ code: 6 }, true],
  [{ code: 9, details: "the stored version (17) does not match the required base version (16)" }, true],
  [{ code: 9, details: "The Cloud Firestore API is not available for Firestore in Datastore Mode database x." }, false],
  [{ code: 9 }, false],
  [undefined, false],
])("%o is a condition that did not hold: %s", ([thrown, failed]) => {
  expect(isConditionFailed(thrown)).toBe(failed);
});

test("a failed precondition that the write did not set is a refusal with the remedy", () => {
  const thrown = { code: 9, details: "The Cloud Firestore API is not available for Firestore in Datastore Mode database x" };
  expect(toStoreError(thrown, "put", "e", true)).toMatchObject({
    code: "STORE_REJECTED",
    mayHaveBeenApplied: false,
    message: expect.stringMatching(/Datastore Mode database x\. Another attempt does not help: .*native mode\.$/),
  });
});
