/** The meaning of each failure of a service or its SDK, without a request. The other tests have the ways of a request. */
import type { StoreErrorCode } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { sendOnce as sendToGcs, type GcsClient } from "../src/gcs/gcs-requests.ts";
import { ServiceFailure, toStoreError, type ObjectFailure } from "../src/object-errors.ts";
import { sendOnce as sendToS3 } from "../src/s3/s3-requests.ts";

const REQUEST = { operation: "put", election: "e" };
const { signal } = new AbortController();

function told(failure: ObjectFailure, store: "s3" | "gcs" = "s3", writes = true): Error {
  return toStoreError(new ServiceFailure(failure), store, REQUEST, writes);
}

test.each<readonly [status: number, code: string, is: StoreErrorCode, mayHaveBeenApplied: boolean]>([
  [0, "ECONNRESET", "STORE_UNAVAILABLE", true],
  [0, "ECONNREFUSED", "STORE_UNAVAILABLE", false],
  [0, "CredentialsProviderError", "STORE_UNAUTHENTICATED", false],
  [0, "NoCredentials", "STORE_UNAUTHENTICATED", false],
  [0, "NoTokenService", "STORE_UNAVAILABLE", false],
  [0, "TimeoutError", "STORE_TIMEOUT", true],
  [0, "AbortError", "STORE_TIMEOUT", true],
  [299, "Other", "STORE_UNAVAILABLE", true],
  [300, "Other", "STORE_REJECTED", true],
  [400, "Other", "STORE_REJECTED", false],
  [400, "RequestTimeout", "STORE_TIMEOUT", true],
  [400, "InvalidToken", "STORE_UNAUTHENTICATED", false],
  [401, "Other", "STORE_UNAUTHENTICATED", false],
  [403, "Other", "STORE_DENIED", false],
  [403, "InvalidAccessKeyId", "STORE_UNAUTHENTICATED", false],
  [403, "SignatureDoesNotMatch", "STORE_UNAUTHENTICATED", false],
  [404, "Other", "STORE_MISSING", false],
  [408, "Other", "STORE_TIMEOUT", true],
  [409, "Other", "STORE_CONFLICT", false],
  [429, "Other", "STORE_THROTTLED", false],
  [499, "Other", "STORE_REJECTED", false],
  [500, "Other", "STORE_UNAVAILABLE", true],
  [500, "SlowDown", "STORE_THROTTLED", true],
  [501, "Other", "STORE_REJECTED", true],
  [503, "Other", "STORE_THROTTLED", true],
])("%d %s is %s, and a write may have been carried out: %s", (status, code, is, mayHaveBeenApplied) => {
  const failure = { status, code, message: "The words", isFromService: status > 0 };
  expect(told(failure)).toMatchObject({ ...REQUEST, store: "s3", code: is, mayHaveBeenApplied });
  expect(told(failure, "s3", false)).toMatchObject({ mayHaveBeenApplied: false });
  const http = status === 0 ? "" : ` (HTTP ${status})`;
  expect(told(failure).message).toMatch(`s3: 'put' of 'e' failed: ${code}${http}: The words.`);
  expect(told({ ...failure, message: "" }).message).toContain(`failed: ${code}${http}.`);
  // Another server in the service's place proves nothing.
  if (status === 0) return;
  const foreign = told({ ...failure, isFromService: false });
  expect(foreign).toMatchObject({ code: is, mayHaveBeenApplied: true });
  expect(foreign.message).toContain("the answer does not come from the service.");
});

test.each([
  ["s3", 401, "Give the process a role, or name a profile (AWS_PROFILE);"],
  ["s3", 403, "Candidates need s3:GetObject and s3:PutObject"],
  ["s3", 404, "Create the bucket first, or check its name and its region."],
  ["gcs", 401, "Give the process a service account, or set GOOGLE_APPLICATION_CREDENTIALS;"],
  ["gcs", 403, "Candidates need the role roles/storage.objectUser"],
  ["gcs", 404, "Create the bucket first, or check its name."],
] as const)("on %s, %d has advice", (store, status, advice) => {
  expect(told({ status, code: "C", message: "", isFromService: true }, store).message).toContain(
    `failed: C (HTTP ${status}). ${advice}`,
  );
});

test.each([
  [new TypeError("a bug"), "TypeError: a bug."],
  [Object.assign(new Error("cut off"), { code: "EPIPE" }), "EPIPE: cut off."],
  [undefined, "Error."],
])("an error that is not the service's counts as no reply: %s", (error, words) => {
  const failure = toStoreError(error, "s3", REQUEST, true);
  expect(failure).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
  expect(failure.message).toBe(`s3: 'put' of 'e' failed: ${words}`);
  expect(toStoreError(failure, "s3", REQUEST, false)).toBe(failure);
});

describe("an error of the SDK", () => {
  const reply = (status: number, headers: object, data?: ArrayBuffer) => ({ response: { status, headers, data } });
  const own = { "x-guploader-uploadid": "R", "retry-after": "7" };
  const xml = Uint8Array.from(new TextEncoder().encode("<Code>C</Code><Message>M</Message><Details>D</Details>")).buffer;
  const none = { status: 0, isFromService: false };
  const service = { isFromService: true, retryAfter: "7" };

  test.each<readonly [what: string, error: unknown, failure: Partial<ObjectFailure>]>([
    ["without credentials", new Error("Could not load the default credentials."), { ...none, code: "NoCredentials" }],
    ["400 of the token service", { ...reply(400, {}), message: "m" }, { ...none, code: "NoCredentials", message: "m" }],
    ["429 of the token service", reply(429, {}), { ...none, code: "NoTokenService" }],
    ["499 of the token service", reply(499, {}), { ...none, code: "NoCredentials" }],
    ["500 of the token service", reply(500, {}), { ...none, code: "NoTokenService" }],
    ["401 of the service", reply(401, own, xml), { ...service, status: 401, code: "C", message: "M D" }],
    ["401 without a text", reply(401, own), { ...service, status: 401, code: "Error", message: "" }],
    ["a socket", { code: "ECONNRESET", message: "m" }, { ...none, code: "ECONNRESET", message: "m" }],
    ["fetch", { message: "fetch failed", cause: { code: "EPIPE", message: "m" } }, { ...none, code: "EPIPE", message: "m" }],
    ["a number", { name: "N", code: 5, message: "m" }, { ...none, code: "N", message: "m" }],
    ["nothing", undefined, { ...none, code: "Error", message: "" }],
  ])("for Google Cloud Storage: %s", async (_, error, failure) => {
    const request = async (): Promise<never> => await Promise.reject(error as Error);
    const client = { bucket: () => {}, apiEndpoint: "http://gcs.invalid", authClient: { request } } as unknown as GcsClient;
    const sent = sendToGcs(client, { method: "GET", url: "http://gcs.invalid/" }, signal);
    await expect(sent).rejects.toMatchObject({ failure });
  });

  const s3 = (httpStatusCode: number, headers: object) => ({ $metadata: { httpStatusCode }, $response: { headers } });
  const named = { "x-amz-request-id": "R", "retry-after": "7" };

  test.each<readonly [what: string, error: unknown, failure: Partial<ObjectFailure>]>([
    [
      "of the service",
      { name: "N", Code: "C", message: "m", ...s3(403, named) },
      { ...service, status: 403, code: "C", message: "m" },
    ],
    [
      "without a code",
      { name: "N", code: "E", message: "N", ...s3(403, named) },
      { ...service, status: 403, code: "N", message: "" },
    ],
    ["of Cloudflare R2", { name: "N", ...s3(500, { "cf-ray": "1" }) }, { status: 500, code: "N", isFromService: true }],
    ["of a proxy", { name: "N", ...s3(502, {}) }, { status: 502, code: "N", isFromService: false }],
    ["a socket", { name: "TimeoutError", code: "ECONNRESET", message: "m" }, { ...none, code: "ECONNRESET", message: "m" }],
    ["without credentials", { name: "CredentialsProviderError", message: "m" }, { ...none, code: "CredentialsProviderError" }],
    ["nothing", undefined, { ...none, code: "Error", message: "" }],
  ])("for S3: %s", async (_, error, failure) => {
    const client = { send: async () => await Promise.reject(error as Error) };
    const command = { middlewareStack: { add: () => {} }, resolveMiddleware: () => expect.fail("not sent") };
    await expect(sendToS3(client as never, command as never, signal)).rejects.toMatchObject({ failure });
  });
});
