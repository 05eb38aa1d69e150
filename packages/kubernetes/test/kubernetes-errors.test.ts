/** The meaning of each failure of the API server or of the way to it. */
import type { StoreErrorCode } from "@leasehold/core";
import { expect, test } from "vitest";
import { continueAfter, isMissingLease, isUnmetCondition, toStoreError } from "../src/kubernetes-errors.ts";
import { ApiFailure, failureOf, type ApiFailureFacts } from "../src/transport.ts";

function told(facts: ApiFailureFacts, writes = true): Error {
  return toStoreError(new ApiFailure("the words", facts), { operation: "patch", election: "e", writes });
}

test.each<readonly [status: number, is: StoreErrorCode, mayHaveBeenApplied: boolean, byGateway: StoreErrorCode]>([
  [400, "STORE_REJECTED", false, "STORE_UNAVAILABLE"],
  [401, "STORE_UNAUTHENTICATED", false, "STORE_UNAUTHENTICATED"],
  [403, "STORE_DENIED", false, "STORE_UNAVAILABLE"],
  [404, "STORE_MISSING", false, "STORE_MISSING"],
  [405, "STORE_REJECTED", false, "STORE_UNAVAILABLE"],
  [406, "STORE_REJECTED", false, "STORE_UNAVAILABLE"],
  [409, "STORE_CONFLICT", false, "STORE_UNAVAILABLE"],
  [410, "STORE_CONFLICT", false, "STORE_UNAVAILABLE"],
  [413, "STORE_REJECTED", false, "STORE_UNAVAILABLE"],
  [415, "STORE_REJECTED", false, "STORE_UNAVAILABLE"],
  [422, "STORE_REJECTED", false, "STORE_UNAVAILABLE"],
  [429, "STORE_THROTTLED", false, "STORE_UNAVAILABLE"],
  [418, "STORE_UNAVAILABLE", true, "STORE_UNAVAILABLE"],
  [500, "STORE_UNAVAILABLE", true, "STORE_UNAVAILABLE"],
  [503, "STORE_UNAVAILABLE", true, "STORE_UNAVAILABLE"],
])("%d is %s, and a write may have been carried out: %s", (status, code, mayHaveBeenApplied, byGateway) => {
  const facts = { status, reason: "Because", retryAfterMs: 7 };
  const label = { store: "kubernetes", operation: "patch", election: "e" };
  expect(told(facts)).toMatchObject({ ...label, code, mayHaveBeenApplied, retryAfterMs: 7 });
  expect(told(facts).message).toContain("'patch' of 'e' failed: the words.");
  expect(told(facts, false)).toMatchObject({ mayHaveBeenApplied: false });
  expect(told({ ...facts, reason: "Timeout" })).toMatchObject({ code: "STORE_TIMEOUT" });
  // A gateway proves nothing.
  expect(told({ status })).toMatchObject({ code: byGateway, mayHaveBeenApplied: true });
});

test.each<readonly [code: string | undefined, is: StoreErrorCode, mayHaveBeenApplied: boolean]>([
  ["CERT_HAS_EXPIRED", "STORE_UNAUTHENTICATED", false],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "STORE_UNAUTHENTICATED", false],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "STORE_UNAUTHENTICATED", false],
  ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "STORE_UNAUTHENTICATED", false],
  ["ECONNREFUSED", "STORE_UNAVAILABLE", false],
  ["ECONNRESET", "STORE_UNAVAILABLE", true],
  [undefined, "STORE_UNAVAILABLE", true],
])("the socket's %s is %s, and a write may have been carried out: %s", (socketCode, code, mayHaveBeenApplied) => {
  expect(told({ status: 0, socketCode })).toMatchObject({ code, mayHaveBeenApplied });
});

test.each([
  [401, "The token or the client's certificate is not valid, or has expired."],
  [403, "Candidates need the verbs get, create, patch and watch on leases"],
  [404, "Does the namespace exist, and is the URL that of an API server?"],
])("%d has advice", (status, advice) => {
  expect(told({ status, reason: "Because" }).message).toContain(`failed: the words. ${advice}`);
});

test("an error of Leasehold stays as it is, and another one counts as no reply", () => {
  const ours = told({ status: 403, reason: "Forbidden" });
  expect(toStoreError(ours, { operation: "get", election: "e", writes: false })).toBe(ours);
  const other = toStoreError(new TypeError("a bug"), { operation: "patch", election: "e", writes: true });
  expect(other).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
  expect(other.message).toContain("failed: TypeError: a bug.");
});

test.each<readonly [facts: ApiFailureFacts, isMissing: boolean, isUnmet: boolean]>([
  [{ status: 404, reason: "NotFound", resource: "leases" }, true, true],
  [{ status: 404, reason: "NotFound", resource: "namespaces" }, false, false],
  [{ status: 404, reason: "Other", resource: "leases" }, false, false],
  [{ status: 410, reason: "NotFound", resource: "leases" }, false, false],
  [{ status: 409, reason: "AlreadyExists" }, false, true],
  [{ status: 409, reason: "Conflict" }, false, true],
  [{ status: 409, reason: "Other" }, false, false],
  [{ status: 422, reason: "Conflict" }, false, false],
])("%j means that the Lease is missing: %s, and that a condition was not met: %s", (facts, isMissing, isUnmet) => {
  const error = new ApiFailure("m", facts);
  expect([isMissingLease(error), isUnmetCondition(error)]).toEqual([isMissing, isUnmet]);
  expect([isMissingLease(facts), isUnmetCondition(facts)]).toEqual([false, false]);
});

test.each<readonly [body: Record<string, unknown> | undefined, message: string, facts: object]>([
  [undefined, "HTTP 410: the answer does not come from Kubernetes' API server", { status: 410 }],
  [{ kind: "Lease" }, "HTTP 410: the answer does not come from Kubernetes' API server", { status: 410 }],
  [{ kind: "Status" }, "HTTP 410", { status: 410, reason: "Unknown", retryAfterMs: 7 }],
  [{ kind: "Status", message: "", reason: "" }, "HTTP 410", { status: 410, reason: "Unknown", retryAfterMs: 7 }],
  [
    { kind: "Status", message: "M", reason: "R", details: { kind: "leases" }, metadata: { continue: "c" } },
    "M",
    { status: 410, reason: "R", resource: "leases", continueToken: "c", retryAfterMs: 7 },
  ],
  [{ kind: "Status", details: null, metadata: null }, "HTTP 410", { status: 410, reason: "Unknown", retryAfterMs: 7 }],
])("the body %j is a failure with the words '%s'", (body, message, facts) => {
  const failure = failureOf(410, body, 7);
  expect([failure.message, failure.facts]).toEqual([message, facts]);
  expect(continueAfter(failure)).toBe(failure.facts.continueToken);
  expect(continueAfter(failureOf(400, body, 7))).toBeUndefined();
});
